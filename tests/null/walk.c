/* walk.c - calls every function of the file CALLS (made by calls.awk) with NULL in each place, each call
 * in a process of its own. Prints what is wrong and exits with 1; else says how much was walked. Compiled
 * by test_null_headers.sh, which includes qkv.h first. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OK, FAILED };
typedef struct {
    const char *name;
    int (*call)(int null);  // which place is NULL, -1: none
    int places, error;      // is one of them the sentence's?
} function;

static char sentence[QKV_IO_ERROR], words[1 << 16];
static _Alignas(64) char nothing[1 << 16];  // whatever is pointed to and has no line below
static bool is_pointer, no_error;  // the place that is NULL: is it one, is it the sentence's?

/* ---- what is given ---- */

static ag_params *params;
static ag_graph *graph;
static ag_node *node;
static tensor_arena *arena;
static qkv_trainer *trainer;
static qkv_config config;
static data_spec spec;
static qkv_study *study;

static void hook(ag_node *x, void *ctx) { (void)x, (void)ctx; }
static ag_node *sample(ag_graph *g, int i) {
    return i ? NULL : ag_exp(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 2)));
}
static void report(void *ctx, const char *name, qkv_io_status status, const char *text) {
    (void)ctx, (void)name, (void)status, (void)text;
}

static int number(const char *name) {
    static const char *const ones[] = {"n",     "threads", "count", "end", "most", "keep", "B",
                                       "total", "size",    "width", "S",   "more", "O"};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (strcmp(name, ones[i]) == 0) return strcmp(name, "size") == 0 ? 64 : 1;
    return 0;
}

static char *text(const char *name) {
    if (strcmp(name, "error") == 0) return sentence;
    if (strcmp(name, "split") == 0) return strcpy(words, "test");
    if (strcmp(name, "change") == 0) return strcpy(words, "0,1");
    if (strcmp(name, "list") == 0) return strcpy(words, "x=1");
    return strcpy(words, "x");
}

static void *place_is_null(const char *name) {
    is_pointer = true;
    no_error = strcmp(name, "error") == 0;
    return NULL;
}

/* A place where a pointer goes. Its type says what is given. */
#define POINTER(type, name, place) \
    (null == (place) ? (type)place_is_null(name) : (type)(size_t)VALUE((type)0, name))
#define VALUE(typed, name) \
    _Generic((typed), char *: text(name), const char *: text(name),                            \
        const qkv_io *: &qkv_io_posix, const tensor_allocator *: &tensor_malloc,               \
        ag_params *: params, const ag_params *: params, ag_graph *: graph,                     \
        const ag_graph *: graph, ag_node *: node, const ag_node *: node, tensor_arena *: arena, \
        const tensor_arena *: arena, qkv_trainer *: trainer, const qkv_trainer *: trainer,     \
        qkv_trainer_worker *: qkv_trainer_any_worker(trainer),                                 \
        const qkv_trainer_worker *: qkv_trainer_any_worker(trainer), qkv_config *: &config,    \
        const qkv_config *: &config, data_spec *: &spec, const data_spec *: &spec,             \
        const ag_op *: &ag_op_exp, ag_hook_fn *: hook, ag_sample_fn *: sample,                 \
        ag_node * (*)(ag_node *): ag_exp, ag_node * (*)(ag_node *, ag_mask): ag_softmax,       \
        qkv_plot_report *: report,                                                             \
        const data_task *: data_find("pairs"), qkv_study *: study, const qkv_study *: study,   \
        const data_option *: qkv_config_option_named(&config, "layers"),                       \
        const ag_sizes *: &(const ag_sizes){1, 2, 2, 1, 2},                                    \
        qkv_io_text *: &(qkv_io_text){.arena = arena},                                         \
        qkv_probe_measures *: &(qkv_probe_measures){.arena = arena},                           \
        qkv_io_appender *: &(qkv_io_appender){.io = &qkv_io_posix, .path = "x", .fd = -1},     \
        const qkv_run_options *: &(const qkv_run_options){.dir = "x", .threads = 1, .keep = 1}, \
        const qkv_run_opening *: &(const qkv_run_opening){.dir = "x", .threads = 1},           \
        const qkv_run_export_options *: &(const qkv_run_export_options){.npy = "x"},           \
        const qkv_study_options *: &(const qkv_study_options){.dir = "x", .jobs = 1, .parts = 1}, \
        qkv_study_results *: &(qkv_study_results){.arena = arena},                             \
        const qkv_study_results *: &(qkv_study_results){.arena = arena},                       \
        const qkv_trainer_calls *: &(const qkv_trainer_calls){0}, const tensor *: &node->val,  \
        default: nothing)
#ifdef CONTROL
static bool control_crashes(const int *x, char *error) {
    return *x == 0 || qkv_io_fail(error, "x");
}
static bool control_says_nothing(const int *x, char *error) { return x && error; }
#endif
#include CALLS

static void begin(void) {
    static const char some[] =
        "{\"name\": \"x\", \"claim\": \"x\", \"seeds\": 1, \"base\": {\"task\": \"pairs\", "
        "\"steps\": 1},"
        "\"variants\": [{\"name\": \"x\", \"set\": {}}], \"columns\": [\"accuracy\"]}";
    params = ag_params_new(NULL, 1);
    graph = ag_graph_new(params);
    node = ag_param(graph, "x", tensor_dims(2, 2, 2), (ag_init){.kind = AG_ONES});
    arena = tensor_arena_new(NULL);
    qkv_config_default(&config);
    config.steps = 1;
    bool ok = !ag_error(graph) && qkv_config_resolve(&config, &spec, sentence) &&
              (trainer = qkv_trainer_new(NULL, &config, &spec, 1, sentence)) &&
              (study = qkv_study_parse(some, strlen(some), sentence));
    if (!ok) fprintf(stderr, "%s\n", sentence), _exit(2);
}

/* One call. Exit status: 0 well, 1 a failure without a sentence, 2 no place for a pointer, 3 refused. */
static int child(const function *f, int null) {
    alarm(60);
    memset(sentence, 0, sizeof sentence);
    int result = f->call(null);
    if (null >= 0 && !is_pointer) return 2;
    if (f->error && result == FAILED && !no_error && !*sentence) return 1;
    return *sentence ? 3 : 0;
}

int main(void) {
    int calls = 0, refused = 0, wrong = 0;
    begin();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int null = -1; null < functions[i].places; null++) {
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) _exit(child(&functions[i], null));
            int status = 0;
            if (pid < 0 || waitpid(pid, &status, 0) != pid) return 2;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 2) continue;
            calls++;
            refused += WIFEXITED(status) && WEXITSTATUS(status) == 3;
            if (WIFEXITED(status) && WEXITSTATUS(status) != 1) continue;
            wrong++;
            printf("%s(), NULL in place %d: %s\n", functions[i].name, null + 1,
                   WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "fails without a sentence");
        }
    printf("%d calls, %d refused, %d wrong\n", calls, refused, wrong);
    return wrong != 0;
}
