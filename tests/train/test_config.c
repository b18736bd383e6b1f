/* The options: as text, as JSON, together. Everything is asked of every line of config.def, so an
 * option added there is covered. All of it is asked again under a decimal comma. */
#include "train/config/config.h"

#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/check.h"
#include "train/io/number.h"

typedef const data_option option;

/* The task whose options are asked along; each test goes through all tasks. */
static const char *task_name = "pairs";

static void defaults(qkv_config *c) {
    qkv_config_default(c);
    snprintf(c->task, sizeof c->task, "%s", task_name);
    qkv_config_use_plugin(c, NULL);
}

/* The options of the task's configuration, without its sections, then NULL; looked up once a task. */
static option *const *options(void) {
    static option *list[200];
    static const char *of;
    if (of == task_name) return list;
    qkv_config c;
    size_t n = 0;
    defaults(&c);
    option *o;
    for (int i = 0; (o = qkv_config_option_at(&c, i)); i++)
        if (o->kind != DATA_KIND_SECTION) list[n++] = o;
    assert_true(n + 1 < sizeof list / sizeof *list);
    list[n] = NULL;
    of = task_name;
    return list;
}
#define EACH_OPTION(o) for (option *const *at_##o = options(), *o; (o = *at_##o); at_##o++)

static const void *field_of(const qkv_config *c, option *o) {
    return (o->of_task ? (const char *)c->of_task.byte : (const char *)c) + o->offset;
}

static bool is_number(option *o) { return o->kind == DATA_KIND_INT || o->kind == DATA_KIND_REAL; }

static size_t size_of(option *o) {
    switch (o->kind) {
        case DATA_KIND_REAL: return sizeof(double);
        case DATA_KIND_FLAG: return sizeof(bool);
        case DATA_KIND_TEXT: return (size_t)o->greatest;
        default: return sizeof(int);
    }
}

/* Field by field: padding does not count. */
static void assert_same(const qkv_config *a, const qkv_config *b) {
    EACH_OPTION(o)
    if (memcmp(field_of(a, o), field_of(b, o), size_of(o)) != 0) fail_msg("%s differs", o->field);
}

/* The text is refused, in one sentence, and the field stays. */
static void assert_refused(option *o, const char *text) {
    qkv_config c, before;
    char error[QKV_IO_ERROR] = "";
    defaults(&c);
    before = c;
    if (qkv_config_set(&c, o, text, error)) fail_msg("%s takes '%s'", o->field, text);
    if (strlen(error) < 10) fail_msg("%s '%s' is refused without a reason", o->field, text);
    assert_same(&c, &before);
}

static void assert_taken(qkv_config *c, option *o, const char *text) {
    char error[QKV_IO_ERROR] = "";
    if (!qkv_config_set(c, o, text, error)) fail_msg("%s '%s': %s", o->field, text, error);
}

/* Through text, and through config.json. */
static void assert_round_trip(const qkv_config *c) {
    qkv_config back;
    char text[QKV_CONFIG_TEXT_SIZE + 64], error[QKV_IO_ERROR] = "";
    defaults(&back);
    EACH_OPTION(o) assert_taken(&back, o, qkv_config_get(c, o, text, sizeof text));
    assert_same(&back, c);
    defaults(&back);
    char *json = qkv_config_to_json(c);
    assert_non_null(json);
    if (!qkv_config_from_json(&back, json, strlen(json), error)) fail_msg("%s", error);
    free(json);
    assert_same(&back, c);
}

/* ---- as text ---- */

static void defaults_round_trip(void **state) {
    (void)state;
    qkv_config c;
    defaults(&c);
    EACH_OPTION(o) {
        qkv_config d = c;
        assert_ptr_equal(qkv_config_option_find(&c, o->field), o);
        char text[QKV_CONFIG_TEXT_SIZE + 64];
        if (strcmp(o->field, "task") == 0) continue;  // another one has other options
        if (o->def) assert_taken(&d, o, o->def);
        assert_same(&c, &d);
        assert_taken(&d, o, qkv_config_get(&c, o, text, sizeof text));
        assert_same(&c, &d);
        qkv_config_reset(&d, o);
        assert_same(&c, &d);
        assert_ptr_equal(qkv_config_option_named(&c, o->option), o);
    }
    assert_round_trip(&c);
    assert_null(qkv_config_option_find(&c, "no_such_option"));
    assert_null(qkv_config_option_find(&c, ""));  // a section is no option
}

/* Doubles whose short forms are other doubles. */
static void odd_doubles_round_trip(void **state) {
    (void)state;
    static const double odd[] = {0.1 + 0.2,    1e-300,      1.0 / 3,         DBL_MIN, 5e-324,
                                 123456.78901, DBL_EPSILON, 1 - DBL_EPSILON, 1e22,    2e-8 / 3};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        qkv_config c;
        defaults(&c);
        EACH_OPTION(o) {
            bool fits = odd[i] >= o->least && odd[i] <= o->greatest;
            if (o->kind == DATA_KIND_REAL && fits) qkv_config_choose(&c, o->field, odd[i]);
        }
        assert_round_trip(&c);
    }
}

static void numbers_are_read_whole(void **state) {
    (void)state;
    static const char *const bad[] = {"10abc",
                                      "",
                                      " 5",
                                      "5 ",
                                      "nan",
                                      "-nan",
                                      "inf",
                                      "-inf",
                                      "infinity",
                                      "0x10",
                                      "1e400",
                                      "-1e400",
                                      "-1",
                                      "1,5",
                                      "1.5.5",
                                      "1 5",
                                      "--5",
                                      "-",
                                      ".",
                                      "e5",
                                      "5e",
                                      "\n5",
                                      "5\n",
                                      "0x1p3",
                                      "1'000",
                                      "99999999999999999999999999999999999999",
                                      "1e99999999999"};
    static const char *const not_whole[] = {
        "1.5", "1e3", "5.", "2147483648", "-2147483649", "18446744073709551617", "4294967297"};
    EACH_OPTION(o) {
        for (size_t i = 0; is_number(o) && i < sizeof bad / sizeof *bad; i++)
            assert_refused(o, bad[i]);
        for (size_t i = 0; i < sizeof not_whole / sizeof *not_whole; i++)
            if (o->kind == DATA_KIND_INT) assert_refused(o, not_whole[i]);
    }
}

static void ranges_include_their_ends(void **state) {
    (void)state;
    char text[QKV_IO_NUMBER];
    qkv_config c;
    defaults(&c);
    EACH_OPTION(o) {
        if (!is_number(o)) continue;
        bool whole = o->kind == DATA_KIND_INT;
        double below = whole ? o->least - 1 : nextafter(o->least, -INFINITY);
        double above = whole ? o->greatest + 1 : nextafter(o->greatest, INFINITY);
        assert_taken(&c, o, qkv_io_format_exact(o->least, text));
        assert_taken(&c, o, qkv_io_format_exact(o->greatest, text));
        assert_refused(o, qkv_io_format_exact(below, text));
        assert_refused(o, qkv_io_format_exact(above, text));
    }
}

static void choices_and_flags_are_words(void **state) {
    (void)state;
    static const char *const bad[] = {"", "|", "0", "1", "no such word", "TRUE", "yes", " true"};
    qkv_config c;
    defaults(&c);
    EACH_OPTION(o) {
        char words[256], text[QKV_CONFIG_TEXT_SIZE + 64], *save = NULL;
        bool flag = o->kind == DATA_KIND_FLAG;
        if (!flag && o->kind != DATA_KIND_CHOICE) continue;
        snprintf(words, sizeof words, "%s", flag ? "false|true" : o->choices);
        for (char *w = strtok_r(words, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
            assert_taken(&c, o, w);
            assert_string_equal(qkv_config_get(&c, o, text, sizeof text), w);
            snprintf(text, sizeof text, "%sx", w);
            assert_refused(o, text);
        }
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_refused(o, bad[i]);
        if (!flag) assert_refused(o, o->choices);
    }
}

static void text_has_a_limit(void **state) {
    (void)state;
    char text[QKV_CONFIG_TEXT_SIZE + 2];
    qkv_config c;
    defaults(&c);
    memset(text, 'x', sizeof text);
    text[QKV_CONFIG_TEXT_SIZE] = '\0';
    EACH_OPTION(o) if (o->kind == DATA_KIND_TEXT) assert_refused(o, text);
    text[QKV_CONFIG_TEXT_SIZE - 1] = '\0';
    EACH_OPTION(o) if (o->kind == DATA_KIND_TEXT) assert_taken(&c, o, text);
    assert_string_equal(c.task, text);
}

/* ---- as JSON ---- */

static bool reads(const char *text, size_t n, qkv_config *c) {
    char error[QKV_IO_ERROR] = "";
    defaults(c);
    bool ok = qkv_config_from_json(c, text, n, error);
    assert_int_equal(ok, error[0] == '\0');
    assert_null(strchr(error, '\n'));
    return ok;
}

static void json_of_another_form_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "3",
                                      "null",
                                      "{} x",
                                      "{}{}",
                                      "{\"stepz\": 5}",
                                      "{\"\": 5}",
                                      "{\"steps\": 5, \"steps\": 5}",
                                      "{\"steps\": }",
                                      "{\"steps\": 5,}",
                                      "{\"lr\": NaN}",
                                      "{\"lr\": 1e400}",
                                      "{\"lr\": -1}",
                                      "{\"lr\": 0,003}",
                                      "{\"steps\": 99999999999}",
                                      "{\"steps\": 99999999999999999999999}",
                                      "{\"task\": \"pa\\u0000irs\"}",
                                      "{\"task\": \"\xff\"}",
                                      "{\"optimizer\": \"adamx\"}",
                                      "{\"Training\": 1}",
                                      "{steps: 5}",
                                      "{\"lr\": 0x10}",
                                      "// note\n{}",
                                      "{}\xef\xbb\xbf"};
    qkv_config c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reads(bad[i], strlen(bad[i]), &c)) fail_msg("takes %s", bad[i]);
    assert_false(reads("{}\0", 3, &c));  // trailing bytes, even if they are zeros
    assert_true(reads(" {} \n", 5, &c));
    static const char remarks[] = "{\"version\": 1, \"flags\": null, \"compiler\": {}}";
    assert_true(reads(remarks, strlen(remarks), &c));  // said, not read
}

static void json_of_another_type_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *value;
        bool real, flag, text;  // does that kind of option read it? (no whole number does)
    } values[] = {{"\"5\"", false, false, true}, {"5.0", true, false, false},
                  {"true", false, true, false},  {"null", false, false, false},
                  {"[5]", false, false, false},  {"{}", false, false, false}};
    EACH_OPTION(o)
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[160];
        qkv_config c;
        if (o->kind == DATA_KIND_REAL   ? values[i].real
            : o->kind == DATA_KIND_FLAG ? values[i].flag
            : o->kind == DATA_KIND_INT  ? false
                                        : values[i].text)
            continue;
        int n = snprintf(text, sizeof text, "{\"%s\": %s}", o->field, values[i].value);
        if (reads(text, (size_t)n, &c)) fail_msg("takes %s", text);
    }
}

static void json_changes_only_what_it_names(void **state) {
    (void)state;
    static const char text[] = "{\"lr\": 1, \"steps\": 7, \"self\": false, \"optimizer\": \"sgd\"}";
    qkv_config c, d;
    defaults(&d);
    assert_true(reads(text, strlen(text), &c));
    assert_true(c.lr == 1 && c.steps == 7 && !c.self && c.optimizer == QKV_OPTIM_SGD);
    d.lr = 1;  // a whole number is a real one, too
    d.steps = 7;
    d.self = false;
    d.optimizer = QKV_OPTIM_SGD;
    assert_same(&c, &d);
}

/* config.json says every option, and by whom the run was made. */
static void json_is_complete(void **state) {
    (void)state;
    qkv_config c;
    defaults(&c);
    char *text = qkv_config_to_json(&c);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    EACH_OPTION(o) assert_non_null(json_object_get(root, o->field));
    static const char *const remarks[] = {"version", "precision", "compiler", "flags", "numbers"};
    for (int i = 0; i < 4; i++) assert_true(json_is_string(json_object_get(root, remarks[i])));
    assert_string_equal(json_string_value(json_object_get(root, "precision")), REAL_NAME);
    assert_non_null(strstr(text, "\"lr\": 0.003,"));  // to be read by people
    json_decref(root);
    free(text);
}

/* ---- a host program with a decimal comma ---- */

static char locale_dir[64];

static int make_locale_dir(void **state) {
    (void)state;
    snprintf(locale_dir, sizeof locale_dir, "/tmp/qkv-locale-XXXXXX");
    return mkdtemp(locale_dir) == NULL;
}

static int restore_locale(void **state) {
    (void)state;
    char command[128];
    setlocale(LC_ALL, "C");
    snprintf(command, sizeof command, "rm -rf %s", locale_dir);
    return system(command);
}

/* Sets a locale with a decimal comma, made for the purpose if the system has none. */
static bool set_comma_locale(void) {
    char command[256], number[32];
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        snprintf(command, sizeof command,
                 "localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
                 locale_dir);
        if (system(command) != 0) return false;
        setenv("LOCPATH", locale_dir, 1);
        if (!setlocale(LC_ALL, "de_DE.UTF-8")) return false;
    }
    snprintf(number, sizeof number, "%.1f", 0.5);
    return strcmp(number, "0,5") == 0;
}

static void a_decimal_comma_changes_nothing(void **state) {
    qkv_config c;
    char text[QKV_IO_NUMBER];
    defaults(&c);
    c.lr = 0.1 + 0.2;
    char *point = qkv_config_to_json(&c);
    if (!set_comma_locale()) {
        free(point);
        print_message("cannot run: no locale with a decimal comma, and localedef makes none\n");
        skip();
    }
    char *comma = qkv_config_to_json(&c);
    assert_string_equal(comma, point);
    free(comma);
    free(point);
    assert_string_equal(qkv_io_format_real(-1234.5, 9, text), "-1234.5");
    assert_string_equal(qkv_io_format_real(1.5e-300, 9, text), "1.5e-300");
    defaults_round_trip(state);
    odd_doubles_round_trip(state);
    numbers_are_read_whole(state);
    ranges_include_their_ends(state);
    json_of_another_form_is_refused(state);
}

/* ---- options of tasks ---- */

/* A task's options are known with it alone, wherever in the text it is named. */
static void options_belong_to_their_task(void **state) {
    (void)state;
    static const struct {
        const char *json, *says;  // NULL: is read
    } cases[] = {{"{\"form\": 11, \"task\": \"coref\"}", NULL},
                 {"{\"task\": \"mqar\", \"order\": \"vk\", \"keys\": 16}", NULL},
                 {"{\"form\": 11}", "--form belongs to the task coref; pairs has --pairs, --keys"},
                 {"{\"task\": \"coref\", \"pairs\": 3}", "coref has --form"},
                 {"{\"task\": \"two\", \"hold_out\": false}", "belongs to the task pairs"},
                 {"{\"task\": \"coref\", \"form\": 14}", "is not between 9 and 13"},
                 {"{\"task\": \"pears\", \"pairs\": 3}", "no task 'pears'"},
                 {"{\"formm\": 11}", "no option 'formm'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qkv_config c;
        char error[QKV_IO_ERROR] = "";
        qkv_config_default(&c);
        bool ok = qkv_config_from_json(&c, cases[i].json, strlen(cases[i].json), error);
        if (ok != !cases[i].says) fail_msg("%s: %s", cases[i].json, error);
        if (!ok && !strstr(error, cases[i].says)) fail_msg("%s: %s", cases[i].json, error);
    }
}

/* Another task begins with its own defaults; the same one again changes nothing. */
static void another_task_has_its_own_defaults(void **state) {
    (void)state;
    qkv_config c;
    char text[64];
    qkv_config_default(&c);
    assert_true(qkv_config_choose(&c, "pairs", 3));
    assert_taken(&c, qkv_config_option_find(&c, "task"), "pairs");
    assert_string_equal(qkv_config_get(&c, qkv_config_option_find(&c, "pairs"), text, sizeof text),
                        "3");
    assert_taken(&c, qkv_config_option_find(&c, "task"), "induction");
    assert_string_equal(qkv_config_get(&c, qkv_config_option_find(&c, "pairs"), text, sizeof text),
                        "12");
    assert_null(qkv_config_option_find(&c, "hold_out"));
    assert_false(qkv_config_choose(&c, "values", 9));
    assert_taken(&c, qkv_config_option_find(&c, "task"), "coref");
    assert_null(qkv_config_option_named(&c, "pairs"));
    assert_true(qkv_config_choose(&c, "form", 13));
}

/* No name means two things: every task's options are others than those that every run has. */
static void names_are_taken_once(void **state) {
    (void)state;
    const data_task *task;
    for (int i = 0; (task = qkv_config_task_at(NULL, i)); i++)
        for (option *o = task->options; o->option; o++) {
            assert_null(data_option_find(qkv_config_options, o->field));
            assert_true(o->help && *o->help);
        }
}

/* Once for every task. */
#define EACH(f)                                   \
    static void f##_of_every_task(void **state) { \
        for (int i = 0; data_tasks[i]; i++) {     \
            task_name = data_tasks[i]->name;      \
            f(state);                             \
        }                                         \
        task_name = "pairs";                      \
    }
EACH(defaults_round_trip)
EACH(odd_doubles_round_trip)
EACH(numbers_are_read_whole)
EACH(ranges_include_their_ends)
EACH(choices_and_flags_are_words)
EACH(json_of_another_type_is_refused)
EACH(json_is_complete)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(defaults_round_trip_of_every_task),
    cmocka_unit_test(odd_doubles_round_trip_of_every_task),
    cmocka_unit_test(numbers_are_read_whole_of_every_task),
    cmocka_unit_test(ranges_include_their_ends_of_every_task),
    cmocka_unit_test(choices_and_flags_are_words_of_every_task),
    cmocka_unit_test(text_has_a_limit),
    cmocka_unit_test(json_of_another_form_is_refused),
    cmocka_unit_test(json_of_another_type_is_refused_of_every_task),
    cmocka_unit_test(json_changes_only_what_it_names),
    cmocka_unit_test(json_is_complete_of_every_task),
    cmocka_unit_test(options_belong_to_their_task),
    cmocka_unit_test(another_task_has_its_own_defaults),
    cmocka_unit_test(names_are_taken_once),
    cmocka_unit_test_setup_teardown(a_decimal_comma_changes_nothing, make_locale_dir,
                                    restore_locale),
};
CHECK_MAIN(tests)
