/* The page's engine: the same run as qkv_run_train(), any step again to the bit, changes that are undone,
 * what follows from them, and sentences for what cannot be. */
#include "train/page/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/faults.h"
#include "tests/lib/tasks.h"
#include "train/page/engine_internal.h"
#include "train/run/run.h"

enum { FAR = 1 << 30 };

static qkv_page *page_with(const char *options) {
    qkv_page *p = qkv_page_open();
    assert_non_null(p);
    if (!qkv_page_start(p, options)) fail_msg("%s", qkv_page_error(p));
    return p;
}

static void go(qkv_page *p, int step) {
    if (!qkv_page_go(p, step, FAR)) fail_msg("%s", qkv_page_error(p));
    assert_int_equal(qkv_page_step(p), step);
}

/* Parameters and moments, as one block of memory. */
static real *weights(qkv_page *p, size_t *bytes) {
    qkv_run_layout *l = &p->run->layout;
    size_t n = 0;
    for (int i = QKV_RUN_LAYOUT_STATE; i < l->n; i++) n += l->tensor[i].bytes;
    char *all = malloc(n), *to = all;
    for (int i = QKV_RUN_LAYOUT_STATE; i < l->n; to += l->tensor[i].bytes, i++)
        memcpy(to, l->tensor[i].data, l->tensor[i].bytes);
    *bytes = n;
    return (real *)(void *)all;
}

static bool same_weights(qkv_page *p, const real *kept) {
    size_t bytes;
    real *now = weights(p, &bytes);
    bool same = memcmp(now, kept, bytes) == 0;
    free(now);
    return same;
}

/* The number after "KEY": in a JSON text. */
static double number(const char *json, const char *key) {
    char mark[64];
    snprintf(mark, sizeof mark, "\"%s\":", key);
    const char *at = json ? strstr(json, mark) : NULL;
    if (!at) fail_msg("no %s in %s", key, json ? json : "nothing");
    return strtod(at + strlen(mark), NULL);
}

/* ---- going ---- */

static void any_step_is_had_again(void **state) {
    (void)state;
    qkv_page *p = page_with("d-model=16\nsteps=60");
    size_t bytes;
    go(p, 37);
    real *at37 = weights(p, &bytes);
    go(p, 60);
    real *at60 = weights(p, &bytes);
    go(p, 37);
    assert_true(same_weights(p, at37));
    go(p, 5);
    assert_false(same_weights(p, at37));
    go(p, 37);
    assert_true(same_weights(p, at37));
    go(p, 60);
    assert_true(same_weights(p, at60));
    free(at37);
    free(at60);
    qkv_page_close(p);
}

static void goes_in_parts(void **state) {
    (void)state;
    qkv_page *p = page_with("d-model=16\nsteps=60");
    assert_true(qkv_page_go(p, 60, 7));
    assert_int_equal(qkv_page_step(p), 7);
    assert_true(qkv_page_go(p, 60, FAR));
    assert_int_equal(qkv_page_step(p), 60);
    assert_true(qkv_page_go(p, 45, 1));  // back to the state at 40, and one step
    assert_int_equal(qkv_page_step(p), 41);
    assert_true(qkv_page_go(p, 1000, FAR));  // not beyond the end
    assert_int_equal(qkv_page_step(p), 60);
    qkv_page_close(p);
}

/* With little memory fewer states are kept, and the steps are the same. */
static void states_get_fewer(void **state) {
    (void)state;
    size_t bytes;
    qkv_page *p = page_with("d-model=16\nsteps=100");
    p->run->budget = 4 * 3 * ag_params_size(qkv_trainer_params(p->run->t)) * sizeof(real);
    go(p, 73);
    real *at73 = weights(p, &bytes);
    go(p, 100);
    assert_true(p->run->states <= 4);
    assert_true(p->run->spacing > QKV_PAGE_SPACING);
    assert_int_equal(p->run->state[0].step, 0);
    go(p, 73);
    assert_true(same_weights(p, at73));
    free(at73);
    qkv_page_close(p);
}

static void ends_where_a_run_ends(void **state) {
    (void)state;
    qkv_page *p = page_with("steps=600\nuntil-accuracy=0.9");
    assert_int_equal(qkv_page_end(p), 600);
    assert_true(qkv_page_go(p, 600, FAR));
    int end = qkv_page_step(p);
    assert_true(end > 50 && end < 300 && end % 10 == 0);
    assert_int_equal(qkv_page_end(p), end);
    go(p, 7);
    go(p, end);
    assert_true(qkv_page_go(p, end + 1, FAR));
    assert_int_equal(qkv_page_step(p), end);
    qkv_page_close(p);
}

/* metrics.csv of the same run, its last column (seconds) cut off each line. */
static char *run_rows(const char *text) {
    char *out = calloc(strlen(text) + 1, 1), *to = out;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n"), cut = n;
        while (cut > 0 && line[cut] != ',') cut--;
        memcpy(to, line, cut);
        to[cut] = '\n';
        to += cut + 1;
        line += n + (line[n] == '\n');
    }
    return out;
}

static void rows_are_those_of_a_run(void **state) {
    (void)state;
    char dir[] = "/tmp/qkv-page-XXXXXX", error[QKV_IO_ERROR], path[QKV_IO_PATH], command[64];
    qkv_config c;
    data_spec spec;
    qkv_run_summary summary;
    void *text;
    size_t n;
    assert_non_null(mkdtemp(dir));
    qkv_config_default(&c);
    c.d_model = 16;
    c.steps = 33;
    assert_true(qkv_config_resolve(&c, &spec, error));
    qkv_run_options o = {.dir = dir, .threads = 1, .keep = 2};
    assert_int_equal(qkv_run_train(&qkv_io_posix, &c, &spec, &o, &summary, error), QKV_IO_OK);
    assert_true(qkv_io_path(path, dir, "metrics.csv", error));
    assert_int_equal(qkv_io_read_file(&qkv_io_posix, NULL, path, 1 << 20, &text, &n, error),
                     QKV_IO_OK);
    qkv_page *p = page_with("d-model=16\nsteps=33");
    go(p, 33);
    char *expected = run_rows(text), *got = run_rows(qkv_page_rows(p, 0));
    assert_string_equal(got, expected);
    assert_true(strncmp(qkv_page_rows(p, 2), "10,", 3) == 0);
    assert_string_equal(qkv_page_rows(p, 6), "");
    free(expected);
    free(got);
    tensor_malloc.release(NULL, text);
    qkv_page_close(p);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* The page's state into the file "f". */
static void save(qkv_page *p) {
    size_t n;
    void *bytes = qkv_page_save(p, &n);
    if (!bytes) fail_msg("%s", qkv_page_error(p));
    faults_put("f", bytes, n);
    free(bytes);
}

static void what_was_restored_is_kept(void **state) {
    (void)state;
    size_t bytes;
    qkv_page *p = page_with("d-model=16\nsteps=40"),
             *other = page_with("d-model=16\nsteps=40\nseed=2");
    go(other, 20);
    save(other);
    assert_true(qkv_page_restore(p, "f"));
    assert_int_equal(qkv_page_step(p), 20);
    real *restored = weights(p, &bytes);
    assert_true(same_weights(other, restored));
    go(p, 30);
    go(p, 20);
    assert_true(same_weights(p, restored));
    go(p, 19);  // before it, the run's own steps
    assert_false(same_weights(p, restored));
    assert_true(qkv_page_open_checkpoint(p, "f"));
    assert_true(same_weights(p, restored));
    assert_non_null(strstr(qkv_page_describe(p), "\"seed\":\"2\""));
    go(other, 19);
    real *earlier = weights(other, &bytes);
    go(p, 19);  // now its own steps are those of the file's run
    assert_true(same_weights(p, earlier));
    assert_false(qkv_page_restore(p, "nowhere"));
    assert_non_null(strstr(qkv_page_error(p), "nowhere"));
    free(earlier);
    free(restored);
    qkv_page_close(p);
    qkv_page_close(other);
}

static void a_run_begins_from_a_configuration(void **state) {
    (void)state;
    qkv_page *p = page_with("d-model=16\nsteps=40");
    assert_true(qkv_page_begin(p, "{\"d_model\": 8, \"steps\": 30, \"version\": \"0\"}"));
    assert_int_equal(qkv_page_end(p), 30);
    assert_false(qkv_page_begin(p, "{\"d_model\": \"8\"}"));
    assert_string_equal(qkv_page_error(p), "'d_model' has a value of the wrong type");
    assert_int_equal(qkv_page_end(p), 30);
    qkv_page_close(p);
}

/* ---- touching ---- */

/* Exchanges two symbols of a stream of the sequence. */
static void exchange(qkv_page *p, int stream, int i, int j) {
    const int *ids = p->run->drawn.ids[DATA_SEQUENCE][stream];
    assert_true(qkv_page_set(p, DATA_SEQUENCE, stream, i, ids[j]));
    assert_true(qkv_page_set(p, DATA_SEQUENCE, stream, j, ids[i]));
}

static int looks_at(qkv_page *p, bool changed) {
    int dim[4];
    assert_non_null(qkv_page_look(p, changed, 0));
    const real *weights_now = qkv_page_node(p, "layer0.attn.weights", dim);
    assert_int_equal(dim[0], 1);
    assert_int_equal(dim[1], dim[2]);
    return qkv_trainer_argmax(weights_now + p->run->question * dim[2], dim[2]);
}

static void keys_move_attention_values_do_not(void **state) {
    (void)state;
    qkv_page *p = page_with("steps=250");
    go(p, 250);
    const char *json = qkv_page_look(p, false, -1);
    int source = (int)number(json, "source"), other = (source + 4) % 8;
    int class = (int)number(json, "class");
    assert_int_equal(looks_at(p, true), source);
    exchange(p, 0, source, other);
    assert_int_equal(looks_at(p, true), other);
    assert_int_equal(looks_at(p, false), source);
    assert_true(qkv_page_example(p, 0));
    exchange(p, 1, source, other);
    assert_int_equal(looks_at(p, true), source);
    json = qkv_page_look(p, true, -1);
    assert_int_not_equal(number(json, "class"), class);
    assert_int_equal(number(json, "class"), number(json, "target"));
    qkv_page_close(p);
}

/* The words of one run's example laid into another's: the same is asked, the same place is right; and of
 * the same words laid into one's own example the model makes what it made of them. */
static void words_can_be_laid_into_an_example(void **state) {
    (void)state;
    qkv_page *a = page_with("steps=40"), *b = page_with("steps=40\nseed=2");
    const data_spec *s = qkv_trainer_spec(b->run->t);
    int laid = 0, source, target;
    assert_true(qkv_page_example(b, 0));
    for (int side = 0; side < DATA_SIDES; side++)
        for (int k = 0; k < s->side[side].n_streams; k++)
            for (int i = 0; i < s->side[side].T; i++) {
                const int id = a->run->drawn.ids[side][k][i];
                laid += id != b->run->drawn.ids[side][k][i];
                assert_true(qkv_page_lay(b, side, k, i, id));
                assert_int_equal(b->run->changed.ids[side][k][i], id);
            }
    assert_true(laid > 8);
    const char *json = qkv_page_look(a, false, 0);
    source = (int)number(json, "source"), target = (int)number(json, "target");
    for (int changed = 0; changed < 2; changed++) {
        json = qkv_page_look(b, changed, 0);
        assert_int_equal(number(json, "source"), source);
        assert_int_equal(number(json, "target"), target);
    }
    assert_true(
        qkv_page_start(b, "steps=40"));  // the words of its own example: nothing is otherwise
    s = qkv_trainer_spec(b->run->t);
    char *own = strdup(qkv_page_look(b, false, 0));
    for (int i = 0; i < s->side[0].T; i++)
        assert_true(qkv_page_lay(b, 0, 0, i, b->run->drawn.ids[0][0][i]));
    assert_string_equal(qkv_page_look(b, false, 0), own);
    free(own);
    assert_false(qkv_page_lay(b, 0, 0, 9, 0) || qkv_page_lay(b, 0, 0, 0, 32));
    assert_string_equal(qkv_page_error(b), "key has no symbol 32");
    qkv_page_close(a);
    qkv_page_close(b);
}

/* Every key in turn finds its entry; after an exchange the rows ask for the keys as they were. */
static void questions_follow_their_keys(void **state) {
    (void)state;
    qkv_page *p = page_with("steps=250");
    go(p, 250);
    exchange(p, 0, 1, 6);
    for (int changed = 0; changed < 2; changed++) {
        const real *map = qkv_page_questions(p, changed, 0);
        assert_non_null(map);
        for (int e = 0; e < 8; e++) {
            int there = !changed || (e != 1 && e != 6) ? e : e == 1 ? 6 : 1;
            assert_int_equal(qkv_trainer_argmax(map + e * 9, 9), there);
            assert_int_equal((int)map[72 + e], p->run->drawn.ids[DATA_SEQUENCE][1][there]);
        }
    }
    qkv_page_close(p);
}

static void changes_of_the_model_are_undone(void **state) {
    (void)state;
    size_t bytes;
    qkv_page *p = page_with("steps=200");
    go(p, 200);
    real *before = weights(p, &bytes);
    assert_true(number(qkv_page_score(p, true), "accuracy") > 0.95);
    assert_true(qkv_page_silence(p, 0));
    assert_true(number(qkv_page_score(p, true), "accuracy") < 0.2);
    assert_true(number(qkv_page_score(p, false), "accuracy") > 0.95);
    assert_true(qkv_page_silence(p, -1));
    assert_true(qkv_page_randomise(p, "layer0.attn.wq"));
    assert_true(number(qkv_page_score(p, true), "attention") < 0.3);
    assert_true(qkv_page_randomise(p, "layer0.attn.wv"));
    assert_true(number(qkv_page_score(p, true), "attention") > 0.7);
    assert_true(number(qkv_page_score(p, true), "accuracy") < 0.3);
    assert_true(qkv_page_randomise(p, ""));
    assert_true(qkv_page_hide(p, QKV_PAGE_HIDE_KEYS_FROM_V + QKV_PAGE_HIDE_VALUES_FROM_K));
    assert_true(number(qkv_page_score(p, true), "accuracy") > 0.95);
    assert_non_null(qkv_page_look(p, true, -1));
    assert_true(qkv_page_hide(p, 0));
    assert_true(same_weights(p, before));
    free(before);
    qkv_page_close(p);
}

/* Of few examples it says how many there were, and which one it is; where some answers stand nowhere,
 * attention is what an evaluation says. */
static void examples_are_counted_as_they_are(void **state) {
    static const char *const runs[] = {"task=file\ndata=examples/it.txt", "absent=0.5"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char error[QKV_IO_ERROR];
        qkv_page *p = page_with(runs[i]);
        qkv_trainer *t = p->run->t;
        const int asked = qkv_trainer_config(t)->eval_examples,
                  there = data_at_most(qkv_trainer_spec(t), "test", asked);
        qkv_trainer_scores s;
        assert_true(there < asked || i == 1);
        go(p, 3);
        assert_true(qkv_trainer_evaluate(t, "test", 0, asked, &s, error));
        const char *json = qkv_page_score(p, false);
        assert_int_equal((int)number(json, "examples"), there);
        assert_close(number(json, "accuracy"), s.accuracy, 1e-6);
        assert_close(number(json, "attention"), s.answer_attention, 1e-5);
        assert_true(qkv_page_example(p, there + 3));
        assert_int_equal((int)number(qkv_page_words(p), "number"), i ? there + 3 : 3);
        qkv_page_close(p);
    }
}

/* In the end a sweep's row has these numbers; asking for them changes nothing. */
static void test_examples_are_measured_as_a_sweep_does(void **state) {
    char error[QKV_IO_ERROR];
    qkv_page *p = page_with("steps=6\neval_every=2\neval_examples=32"),
             *other = page_with("steps=6\neval_every=2\neval_examples=32");
    qkv_trainer_scores s;
    (void)state;
    go(p, 3);
    assert_non_null(qkv_page_test(p, 2048));
    go(p, 6);
    go(other, 6);
    size_t bytes;
    real *without = weights(other, &bytes);
    assert_true(same_weights(p, without));
    assert_true(qkv_trainer_evaluate(other->run->t, "test", 0, 2048, &s, error));
    const char *json = qkv_page_test(p, 2048);
    assert_close(number(json, "accuracy"), s.accuracy, 1e-9);
    assert_close(number(json, "loss"), s.loss, 1e-8 * s.loss);
    assert_non_null(strstr(json, "\"qk_diag\":"));
    free(without);
    qkv_page_close(other);
    qkv_page_close(p);
}

/* Vectors are neither right nor wrong; where nobody says where the answer stands, nobody looks there. */
static void what_was_not_measured_is_null(void **state) {
    (void)state;
    qkv_page *p = page_with("task=recall\neval-examples=8");
    go(p, 1);
    assert_non_null(strstr(qkv_page_score(p, false), "\"accuracy\":null"));
    assert_true(number(qkv_page_score(p, false), "attention") > 0);
    qkv_page_close(p);
    p = page_with("absent=1\neval-examples=8");
    go(p, 1);
    assert_non_null(strstr(qkv_page_score(p, false), "\"attention\":null"));
    assert_null(strstr(qkv_page_score(p, false), "\"accuracy\":null"));
    qkv_page_close(p);
}

/* ---- all tasks, and what cannot be ---- */

static void every_task_can_be_looked_at(void **state) {
    (void)state;
    for (int i = 0; data_tasks[i]; i++) {
        char options[128];
        snprintf(options, sizeof options, "task=%s\neval-examples=8%s%s", data_tasks[i]->name,
                 task_reads_a_file(data_tasks[i]) ? "\ndata=" : "",
                 task_reads_a_file(data_tasks[i]) ? TASK_FILE : "");
        qkv_page *p = page_with(options);
        go(p, 2);
        assert_non_null(qkv_page_describe(p));
        assert_non_null(qkv_page_words(p));
        assert_non_null(qkv_page_score(p, false));
        const char *json = qkv_page_look(p, false, -1);
        assert_non_null(json);
        assert_true(strcmp(data_tasks[i]->name, "recall") == 0 || strstr(json, "\"weight\""));
        bool asks = strstr(qkv_page_describe(p), "\"asks\":true") != NULL;
        assert_true(asks == (qkv_page_questions(p, false, 0) != NULL));
        qkv_page_close(p);
    }
}

static void says_what_cannot_be(void **state) {
    (void)state;
    static const struct {
        const char *options, *error;
    } wrong[] = {
        {"lr=abc", "--lr: 'abc' is not a number"},
        {"batch=0", "--batch: 0 is not between 1 and 1048576"},
        {"tie=x", "--tie: 'x' is none of none|qk|kv|qv|qkv"},
        {"heads=3", "3 heads do not divide the width 32"},
        {"colour=red", "there is no option 'colour'"},
        {"lr", "'lr' is not NAME=VALUE"},
        {"hold=*.wq@9..5",
         "--hold: '*.wq@9..5' ends before it begins: write the earlier step first"},
        {"from=runs/a@60",
         "--from: the page has no other run; train the branch with qkv train, and open it with qkv "
         "view"},
        {"task=pair", "there is no task 'pair' (qkv list tasks; a plugin's own need --plugin)"}};
    qkv_page *p = page_with("seed=7\nd-model=16");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(qkv_page_start(p, wrong[i].options));
        assert_string_equal(qkv_page_error(p), wrong[i].error);
    }
    assert_int_equal(qkv_trainer_config(p->run->t)->seed, 7);  // the old run stays
    assert_false(qkv_page_set(p, 0, 0, 9, 0));
    assert_false(qkv_page_set(p, 0, 0, 0, 32));
    assert_string_equal(qkv_page_error(p), "key has no symbol 32");
    assert_false(qkv_page_ask(p, 3));
    assert_false(qkv_page_silence(p, 1));
    assert_false(qkv_page_randomise(p, "wq"));
    assert_false(qkv_page_example(p, -1));
    assert_null(qkv_page_circuit(p, false, 1, 0));
    qkv_page_close(p);
}

static void divergence_is_said_and_can_be_left(void **state) {
    (void)state;
    qkv_page *p = page_with("lr=1e6\noptimizer=sgd\nsteps=50\nd-model=16");
    assert_false(qkv_page_go(p, 50, FAR));
    assert_non_null(strstr(qkv_page_error(p), "is not finite"));
    go(p, 0);
    assert_non_null(qkv_page_look(p, false, -1));
    qkv_page_close(p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_step_is_had_again),
    cmocka_unit_test(goes_in_parts),
    cmocka_unit_test(states_get_fewer),
    cmocka_unit_test(rows_are_those_of_a_run),
    cmocka_unit_test(ends_where_a_run_ends),
    cmocka_unit_test(a_run_begins_from_a_configuration),
    cmocka_unit_test(keys_move_attention_values_do_not),
    cmocka_unit_test(words_can_be_laid_into_an_example),
    cmocka_unit_test(questions_follow_their_keys),
    cmocka_unit_test(changes_of_the_model_are_undone),
    cmocka_unit_test(examples_are_counted_as_they_are),
    cmocka_unit_test(test_examples_are_measured_as_a_sweep_does),
    cmocka_unit_test(what_was_not_measured_is_null),
    cmocka_unit_test(every_task_can_be_looked_at),
    cmocka_unit_test(says_what_cannot_be),
    cmocka_unit_test(divergence_is_said_and_can_be_left),
    faults_test(what_was_restored_is_kept),  // the last: it ends in another directory
};

CHECK_MAIN(tests)
