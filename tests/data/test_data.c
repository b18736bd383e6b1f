/* Tasks. Everything that data.h promises of a task is asked of every task in the catalogue, through
 * its spec alone: a task added to tasks.def is covered as it is. */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "tests/lib/tasks.h"

static tensor_arena *arena;

static int begin(void **state) {
    (void)state;
    return (arena = tensor_arena_new(NULL)) == NULL;
}

static int end(void **state) {
    (void)state;
    tensor_arena_free(arena);
    return 0;
}

static data_spec spec_of(const data_task *task) {
    data_spec s;
    char error[512] = "";
    if (!task_configure(task, &s, error, sizeof error)) fail_msg("%s: %s", task->name, error);
    return s;
}

static data_batch batch_of(const data_spec *s, int B) {
    data_batch b;
    assert_true(data_batch_new(arena, s, B, &b));
    return b;
}

/* The length of an example of the sequence. */
static int length(const data_spec *s) { return s->side[DATA_SEQUENCE].T; }

/* Row i of the array a [B,T] equals row k of the array b. */
static bool rows_equal(const int *a, int i, const int *b, int k, int T) {
    return memcmp(a + (ptrdiff_t)i * T, b + (ptrdiff_t)k * T, (size_t)T * sizeof(int)) == 0;
}

static bool ids_equal(const data_batch *a, int i, const data_batch *b, int k) {
    bool equal = true;
    for (int side = 0; side < DATA_SIDES; side++)
        for (int n = 0; n < a->spec->side[side].n_streams; n++)
            equal = equal && rows_equal(a->rows.ids[side][n], i, b->rows.ids[side][n], k,
                                        a->spec->side[side].T);
    return equal;
}

/* Row i of one batch and row k of another hold the same example. */
static bool same(const data_batch *a, int i, const data_batch *b, int k) {
    bool equal = ids_equal(a, i, b, k);
    for (int n = 0; n < a->spec->n_readouts; n++) {
        equal = equal && rows_equal(a->rows.target[n], i, b->rows.target[n], k, length(a->spec));
        equal = equal && rows_equal(a->rows.source[n], i, b->rows.source[n], k, length(a->spec));
    }
    return equal;
}

/* Every other choice and flag of a task, one at a time, where it takes them. */
static void each_choice(const data_task *task, void (*check)(const data_spec *s)) {
    for (const data_option *o = task->options; o && o->option; o++) {
        int choices = o->kind == DATA_KIND_FLAG ? 2 : 0;
        for (const char *c = o->kind == DATA_KIND_CHOICE ? o->choices : NULL; c; choices++)
            if ((c = strchr(c, '|'))) c++;
        for (int i = 0; i < choices; i++) {
            data_spec s;
            data_options with;
            char error[512];
            data_options_reset(task->options, &with);
            if (i == (int)data_option_number(o, with.byte)) continue;
            data_options_set(task->options, &with, o->field, i);
            if (!data_configure(task, &with, &s, error, sizeof error)) continue;
            check(&s);
            data_release(&s);
        }
    }
}

/* Runs `check` on every task: its own defaults, and where it takes it a small size, and each choice. */
static void each_task(void (*check)(const data_spec *s)) {
    data_spec s;
    char error[512];
    for (int i = 0; data_tasks[i]; i++) {
        const data_option *table = data_tasks[i]->options;
        data_options small;
        s = spec_of(data_tasks[i]);
        check(&s);
        data_release(&s);
        data_options_reset(table, &small);
        data_options_set(table, &small, "pairs", 2);
        data_options_set(table, &small, "keys", 5);
        data_options_set(table, &small, "values", 4);
        each_choice(data_tasks[i], check);
        if (!data_configure(data_tasks[i], &small, &s, error, sizeof error)) continue;
        check(&s);
        data_release(&s);
    }
}

enum { MANY = 40 };
static const uint64_t SEED = 7;

static void check_pure(const data_spec *s) {
    data_batch all = batch_of(s, MANY), one = batch_of(s, 1), five = batch_of(s, 5);
    data_fill(&all, SEED, "train", 0, MANY);
    for (int e = MANY - 1; e >= 0; e--) {  // alone, backwards, in memory used by another example
        data_fill(&one, SEED, "train", (uint64_t)e, 1);
        assert_true(same(&all, e, &one, 0));
    }
    for (int e = 3; e + 5 <= MANY; e += 4) {  // in batches cut elsewhere
        data_fill(&five, SEED, "train", (uint64_t)e, 5);
        for (int row = 0; row < 5; row++) assert_true(same(&all, e + row, &five, row));
    }
    data_batch again = batch_of(s, MANY);
    data_spec copy = *s;
    again.spec = &copy;
    data_fill(&again, SEED, "train", 0, MANY);
    for (int e = 0; e < MANY; e++) assert_true(same(&all, e, &again, e));
}

static void an_example_is_a_function_of_seed_split_and_number(void **state) {
    (void)state;
    each_task(check_pure);
}

/* How many examples two fillings share, row by row. */
static int shared(const data_spec *s, uint64_t seed, const char *split, uint64_t first,
                  uint64_t other_seed, const char *other_split, uint64_t other_first) {
    data_batch a = batch_of(s, MANY), b = batch_of(s, MANY);
    data_fill(&a, seed, split, first, MANY);
    data_fill(&b, other_seed, other_split, other_first, MANY);
    int n = 0;
    for (int e = 0; e < MANY; e++) n += same(&a, e, &b, e);
    return n;
}

/* Some examples of a small task may be equal by chance, but not half of them. */
static void check_differ(const data_spec *s) {
    const uint64_t far = UINT64_C(1) << 63;  // the top bit of a number counts, too
    assert_true(shared(s, SEED, "train", 0, SEED, "valid", 0) < MANY / 2);
    assert_true(shared(s, SEED, "valid", 0, SEED, "test", 0) < MANY / 2);
    assert_true(shared(s, SEED, "train", 0, SEED + 1, "train", 0) < MANY / 2);
    assert_true(shared(s, SEED, "train", 0, SEED ^ far, "train", 0) < MANY / 2);
    assert_true(shared(s, SEED, "train", 0, SEED, "train", MANY) < MANY / 2);
    assert_true(shared(s, SEED, "train", 0, SEED, "train", far) < MANY / 2);
}

static void splits_seeds_and_numbers_give_other_examples(void **state) {
    (void)state;
    each_task(check_differ);
}

static void check_stream(const data_stream *x) {
    assert_true(x->name && *x->name && x->prefix && x->vocab > 0);
    assert_true(x->marker == -1 || x->marker == x->vocab - 1);  // the marker is the last id
    assert_int_equal(data_symbols(x), x->vocab - (x->marker >= 0));
}

static void check_spec(const data_spec *s) {
    assert_in_range(s->n_readouts, 1, DATA_MAXREADOUTS);
    assert_in_range(s->scored, 1, length(s));
    assert_in_range(s->entries, 0, s->side[s->store].T);
    assert_true(s->chance >= 0 && s->chance < 1 && s->in_context >= 0 &&
                s->in_context < 1);  // 0: unknown
    assert_true(s->side[DATA_SEQUENCE].n_streams > 0);
    for (int side = 0; side < DATA_SIDES; side++) {
        assert_in_range(s->side[side].n_streams, 0, DATA_MAXSTREAMS);
        for (int i = 0; i < s->side[side].n_streams; i++) check_stream(&s->side[side].stream[i]);
    }
    for (int i = 0; i < s->n_readouts; i++) assert_true(s->readout[i].classes > 1);
    if (s->roles.key < 0) return;
    assert_in_range(s->roles.query, 0, s->side[DATA_SEQUENCE].n_streams - 1);
    assert_in_range(s->roles.key, 0, s->side[s->store].n_streams - 1);
    assert_in_range(s->roles.value, 0, s->side[s->store].n_streams - 1);
    // the OV circuit is read into the first readout
    assert_int_equal(data_symbols(data_value(s)), s->readout[0].classes - s->readout[0].has_none);
}

static void specs_are_sound(void **state) {
    (void)state;
    each_task(check_spec);
}

static bool scored_somewhere(const data_batch *b, int at) {
    for (int r = 0; r < b->spec->n_readouts; r++)
        if (b->rows.target[r][at] >= 0) return true;
    return false;
}

static void check_ids(const data_batch *b, int rows) {
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < b->spec->side[side].n_streams; i++)
            for (int at = 0; at < rows * b->spec->side[side].T; at++) {
                int id = b->rows.ids[side][i][at];
                assert_true(id >= -1 && id < b->spec->side[side].stream[i].vocab);
            }
}

/* The loss divides by `scored`, and the trainer has room for that many rows: for each readout
 * exactly so many positions, and the same ones for all. */
static void check_example(const data_batch *b, int row) {
    const data_spec *s = b->spec;
    int scored = 0, T = length(s), first = row * T;
    for (int at = first; at < first + T; at++) scored += scored_somewhere(b, at);
    assert_int_equal(scored, s->scored);
    for (int r = 0; r < s->n_readouts; r++) {
        int n = 0;
        for (int t = 0; t < T; t++) {
            int target = b->rows.target[r][first + t], source = b->rows.source[r][first + t];
            assert_true(target >= -1 && target < s->readout[r].classes);
            assert_true(source >= -1 && source < s->entries);  // it is one of the entries
            if (target < 0) assert_int_equal(source, -1);
            n += target >= 0;
        }
        assert_int_equal(n, s->scored);
    }
}

static void check_ranges(const data_spec *s) {
    data_batch b = batch_of(s, 300);
    data_fill(&b, SEED, "train", 0, 300);
    check_ids(&b, 300);
    for (int row = 0; row < 300; row++) check_example(&b, row);
}

static void ids_targets_and_sources_are_in_range(void **state) {
    (void)state;
    each_task(check_ranges);
}

static void assert_unscored(const data_batch *b, int row) {
    for (int at = row * length(b->spec); at < (row + 1) * length(b->spec); at++)
        for (int r = 0; r < b->spec->n_readouts; r++)
            assert_true(b->rows.target[r][at] == -1 && b->rows.source[r][at] == -1);
}

/* A short last micro-batch: the rows beyond are the last example, so that nothing is read out of range,
 * but are not scored; with no example at all every id is absent. */
static void check_padding(const data_spec *s) {
    data_batch b = batch_of(s, 6), whole = batch_of(s, 2);
    data_fill(&b, SEED, "train", 50, 6);  // what was there before must not show
    data_fill(&b, SEED, "train", 0, 2);
    data_fill(&whole, SEED, "train", 0, 2);
    assert_true(same(&b, 0, &whole, 0) && same(&b, 1, &whole, 1));
    for (int row = 2; row < 6; row++) {
        assert_true(ids_equal(&b, row, &whole, 1));
        assert_unscored(&b, row);
    }
    data_fill(&b, SEED, "train", 0, 0);
    for (int row = 0; row < 6; row++) assert_unscored(&b, row);
    for (int side = 0; side < DATA_SIDES; side++)
        for (int i = 0; i < s->side[side].n_streams; i++)
            for (int at = 0; at < 6 * s->side[side].T; at++)
                assert_int_equal(b.rows.ids[side][i][at], -1);
}

static void rows_beyond_the_count_are_unscored(void **state) {
    (void)state;
    each_task(check_padding);
}

static bool takes_a_batch(const tensor_allocator *mem, void *spec) {
    data_batch b;
    tensor_arena *a = tensor_arena_new(mem);
    bool ok = a && data_batch_new(a, spec, 3000, &b);  // large: several blocks are needed
    if (a) tensor_arena_free(a);
    return ok;
}

static void check_memory(const data_spec *s) {
    data_spec copy = *s;
    check_every_failure(takes_a_batch, &copy);
}

static void a_batch_says_when_memory_is_out(void **state) {
    (void)state;
    each_task(check_memory);
}

static void names_lead_to_tasks(void **state) {
    (void)state;
    for (int i = 0; data_tasks[i]; i++) {
        assert_ptr_equal(data_find(data_tasks[i]->name), data_tasks[i]);
        assert_true(data_tasks[i]->summary && *data_tasks[i]->summary);
    }
    assert_null(data_find("no such task"));
    assert_null(data_find(""));
}

/* Questions without an answer: the share that is asked for, no entry has their key, "none" is right. */
static void absent_keys_have_no_entry(void **state) {
    const data_task *pairs = data_find("pairs");
    data_options chosen;
    data_spec s;
    char error[512], word[DATA_SYMBOL];
    int none = 0;
    (void)state;
    data_options_reset(pairs->options, &chosen);
    assert_true(data_options_set(pairs->options, &chosen, "absent", 0.25));
    assert_true(data_configure(pairs, &chosen, &s, error, sizeof error));
    check_spec(&s);
    check_ranges(&s);
    check_pure(&s);
    assert_string_equal(data_answer(&s.readout[0], 32, word), "none");
    assert_string_equal(data_answer(&s.readout[0], 31, word), "v31");
    data_batch b = batch_of(&s, 1);
    for (int e = 0; e < 1000; e++) {
        data_fill(&b, SEED, "train", (uint64_t)e, 1);
        const bool absent = b.rows.target[0][8] == 32;
        none += absent;
        assert_int_equal(data_right_entries(&s, &b.rows, 0, 8), !absent);
        assert_true((b.rows.source[0][8] < 0) == absent);
    }
    assert_in_range(none, 200, 300);
    assert_true(data_options_set(pairs->options, &chosen, "says", 1));
    assert_true(data_configure(pairs, &chosen, &s, error, sizeof error));
    assert_int_equal(s.readout[0].classes, 32);
    b = batch_of(&s, 1);
    for (int e = 0; e < 100; e++) {  // the value with the key's own number
        data_fill(&b, SEED, "train", (uint64_t)e, 1);
        if (b.rows.source[0][8] < 0)
            assert_int_equal(b.rows.target[0][8], b.rows.ids[DATA_SEQUENCE][0][8]);
    }
    data_options_set(pairs->options, &chosen, "values", 31);
    assert_false(data_configure(pairs, &chosen, &s, error, sizeof error));
    data_options_set(pairs->options, &chosen, "values", 32);
    data_options_set(pairs->options, &chosen, "absent", 0);
    assert_false(data_configure(pairs, &chosen, &s, error, sizeof error));
    data_options_set(pairs->options, &chosen, "says", 0);
    data_options_set(pairs->options, &chosen, "absent", 0.25);
    data_options_set(pairs->options, &chosen, "hold_out", 1);
    assert_false(data_configure(pairs, &chosen, &s, error, sizeof error));
}

/* A memory of two tokens a pair: an answer stands behind its key. Joined it is no memory. */
static void a_memory_of_two_tokens_a_pair(void **state) {
    const data_task *cross = data_find("cross");
    data_options chosen;
    data_spec s;
    char error[512];
    (void)state;
    data_options_reset(cross->options, &chosen);
    assert_true(data_options_set(cross->options, &chosen, "apart", 1));
    assert_true(data_configure(cross, &chosen, &s, error, sizeof error));
    assert_int_equal(s.side[DATA_MEMORY].T, 16);
    data_batch b = batch_of(&s, 1);
    for (int e = 0; e < 100; e++) {
        data_fill(&b, SEED, "train", (uint64_t)e, 1);
        const int *memory = b.rows.ids[DATA_MEMORY][0];
        for (int q = 0; q < 4; q++) {
            const int at = b.rows.source[0][q];
            assert_int_equal(memory[at], 32 + b.rows.target[0][q]);
            assert_int_equal(memory[at - 1], b.rows.ids[DATA_SEQUENCE][0][q]);
        }
    }
    data_options_set(cross->options, &chosen, "joined", 1);
    assert_false(data_configure(cross, &chosen, &s, error, sizeof error));
    assert_non_null(strstr(error, "mqar"));
}

/* ---- options ---- */

/* Every kind of option, and something loaded. */
typedef struct {
    int n, order;
    double share;
    bool turned;
    char path[40];
} options;

static const data_option table[] = {
    DATA_INT(options, n, "n", 4, 1, 9, "positions"),
    DATA_REAL(options, share, "share", 0.5, 0, 1, "of something"),
    DATA_CHOICE(options, order, "order", "second", "first|second", "which"),
    DATA_FLAG(options, turned, "turned", true, "the other way"),
    DATA_FILE(options, path, "path", "here", "what to load"),
    DATA_END,
};

typedef struct {
    data_own own;
    int *alive;
} loaded;

static int alive;

static void release(data_own *own) {
    loaded *l = (loaded *)(void *)own;
    --*l->alive;
    test_free(l);
}

static bool configure(data_spec *s, char *error, size_t size) {
    const options *o = data_chosen(s);
    if (strcmp(o->path, "nowhere") == 0)
        return snprintf(error, size, "cannot read '%s'", o->path), false;
    loaded *l = test_malloc(sizeof *l);
    *l = (loaded){{0, release}, &alive};
    alive++;
    s->own = &l->own;
    s->side[DATA_SEQUENCE] = (data_side){o->n, 1, {data_plain("id", "i", 3)}};
    s->n_readouts = o->order;  // none: not complete
    s->readout[0] = (data_readout){"id", "i", 3, NULL, false};
    s->scored = 1;
    return true;
}

static void example(const data_spec *s, rng *r, const data_example *out) {
    (void)s, (void)r;
    out->target[0][0] = 0;
}

static const data_task odd = {
    .name = "odd", .summary = "", .options = table, .configure = configure, .example = example};

static void options_have_defaults_and_ranges(void **state) {
    (void)state;
    data_options o;
    const options *x = (const void *)o.byte;
    assert_null(data_options_wrong(table));
    data_options_reset(table, &o);
    assert_true(x->n == 4 && x->order == 1 && x->share == 0.5 && x->turned);
    assert_string_equal(x->path, "here");
    assert_true(data_options_set(table, &o, "n", 9) && x->n == 9);
    assert_true(data_options_set(table, &o, "order", 0) && x->order == 0);
    assert_true(data_options_set(table, &o, "turned", 0) && !x->turned);
    assert_true(data_options_set(table, &o, "share", 0.25) && x->share == 0.25);
    static const struct {
        const char *field;
        double x;
    } bad[] = {{"n", 0},     {"n", 10},     {"n", 1.5},  {"order", 2},  {"order", -1},
               {"share", 2}, {"turned", 2}, {"path", 1}, {"nothing", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(data_options_set(table, &o, bad[i].field, bad[i].x));
}

/* A range that the task declares holds for whoever sets the struct by hand, too. */
static void a_value_out_of_range_is_refused(void **state) {
    (void)state;
    data_options o;
    data_spec s;
    char error[512] = "";
    data_options_reset(table, &o);
    ((options *)(void *)o.byte)->n = 99;
    assert_false(data_configure(&odd, &o, &s, error, sizeof error));
    assert_non_null(strstr(error, "--n"));
}

/* What a task loads lives until the last one lets go of it, also when it does not come so far. */
static void what_is_loaded_is_released_once(void **state) {
    (void)state;
    data_options o;
    data_spec s;
    char error[512] = "";
    data_options_reset(table, &o);
    assert_true(data_configure(&odd, &o, &s, error, sizeof error));
    data_spec copy = s;
    data_retain(&copy);
    data_release(&s);
    assert_int_equal(alive, 1);
    data_release(&copy);
    assert_int_equal(alive, 0);
    data_options_set(table, &o, "order", 0);
    assert_false(data_configure(&odd, &o, &s, error, sizeof error));
    assert_non_null(strstr(error, "readouts"));
    assert_int_equal(alive, 0);
    strcpy(((options *)(void *)o.byte)->path, "nowhere");
    assert_false(data_configure(&odd, &o, &s, error, sizeof error));
    assert_string_equal(error, "cannot read 'nowhere'");
}

static void a_table_that_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        data_option line[3];
        const char *says;
    } bad[] = {
        {{DATA_INT(options, n, "n", 10, 1, 9, ""), DATA_END}, "default"},
        {{DATA_INT(options, n, "N", 4, 1, 9, ""), DATA_END}, "small letters"},
        {{DATA_INT(options, n, "no-n", 4, 1, 9, ""), DATA_END}, "no-"},
        {{DATA_INT(options, n, "n", 4, 1, 9, NULL), DATA_END}, "name"},
        {{DATA_CHOICE(options, order, "order", "third", "first|second", ""), DATA_END}, "choices"},
        {{DATA_INT(options, n, "n", 4, 1, 9, ""), DATA_INT(options, n, "n", 4, 1, 9, ""), DATA_END},
         "one name"},
        {{{.kind = DATA_KIND_INT,
           .field = "n",
           .option = "n",
           .offset = 1023,
           .of_task = true,
           .greatest = 1,
           .argument = "N",
           .help = ""},
          DATA_END},
         "room"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        data_task task = odd;
        data_spec s;
        char error[512] = "";
        task.options = bad[i].line;
        assert_false(data_configure(&task, NULL, &s, error, sizeof error));
        if (!strstr(error, bad[i].says)) fail_msg("%d: '%s'", (int)i, error);
    }
}

static void symbols_are_readable(void **state) {
    (void)state;
    char text[DATA_SYMBOL];
    data_stream s = {.name = "value", .prefix = "v", .vocab = 33, .marker = 32};
    assert_string_equal(data_symbol(&s, 6, text), "v6");
    assert_string_equal(data_symbol(&s, 32, text), "?");
    assert_string_equal(data_symbol(&s, -1, text), "");
    s = (data_stream){.prefix = "a prefix longer than a symbol can be", .vocab = 5, .marker = -1};
    assert_true(strlen(data_symbol(&s, 4, text)) < DATA_SYMBOL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(an_example_is_a_function_of_seed_split_and_number),
    TEST(splits_seeds_and_numbers_give_other_examples),
    TEST(specs_are_sound),
    TEST(ids_targets_and_sources_are_in_range),
    TEST(rows_beyond_the_count_are_unscored),
    TEST(a_batch_says_when_memory_is_out),
    TEST(absent_keys_have_no_entry),
    TEST(a_memory_of_two_tokens_a_pair),
    TEST(names_lead_to_tasks),
    TEST(symbols_are_readable),
    TEST(options_have_defaults_and_ranges),
    TEST(a_value_out_of_range_is_refused),
    TEST(what_is_loaded_is_released_once),
    TEST(a_table_that_cannot_be_is_refused),
};
CHECK_MAIN(tests)
