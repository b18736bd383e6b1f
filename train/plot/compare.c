/* compare.c - several runs in one picture. Those whose config.json differs in the seed alone are one group:
 * a curve of their mean, and a thin one for each. What differs between groups is their name. */
#include <jansson.h>
#include <stdio.h>

#include "train/plot/columns.h"
#include "train/run/run.h"

enum { NAME = 90, MOST_RUNS = 32 };

typedef struct {
    const char *path;
    json_t *config;  // without the seed
    long seed;
    int group;
    qkv_plot_columns c;
} member;

typedef struct {
    member of[MOST_RUNS];
    int n, groups;
} members;

static qkv_io_status read_config(member *m, char *why) {
    char *text = NULL, ignored[QKV_IO_ERROR];
    size_t n = 0;
    if (qkv_run_config_text(&qkv_io_posix, m->path, &text, &n, ignored) == QKV_IO_OK) {
        m->config = json_loadb(text, n, 0, NULL);
        tensor_malloc.release(NULL, text);
    }
    if (!json_is_object(m->config))
        return qkv_io_fail(why, "the config.json of '%.200s' cannot be read", m->path),
               QKV_IO_DAMAGED;
    m->seed = (long)json_integer_value(json_object_get(m->config, "seed"));
    json_object_del(m->config, "seed");
    return QKV_IO_OK;
}

static qkv_io_status read_one(members *all, const char *run, const char *source,
                              tensor_arena *arena, char *why) {
    member *m = &all->of[all->n];
    *m = (member){.path = run, .group = all->groups};
    qkv_io_status status = read_config(m, why);
    all->n += m->config != NULL;  // to be freed
    if (status == QKV_IO_OK) status = qkv_plot_columns_read(&m->c, arena, run, source, why);
    if (status != QKV_IO_OK) return status == QKV_IO_SKIPPED ? QKV_IO_FAILED : status;
    for (member *other = all->of; other < m && m->group == all->groups; other++)
        if (json_equal(other->config, m->config)) m->group = other->group;
    all->groups += m->group == all->groups;
    return QKV_IO_OK;
}

/* ---- names ---- */

/* "lr 0.01", "tie qk", "no-residual" */
static void add_option(qkv_io_text *out, const char *key, json_t *value) {
    char option[64];
    snprintf(option, sizeof option, "%s", key);
    for (char *c = option; *c; c++)
        if (*c == '_') *c = '-';
    if (json_is_boolean(value))
        qkv_io_text_add(out, "%s%s", json_is_true(value) ? "" : "no-", option);
    else if (json_is_string(value))
        qkv_io_text_add(out, "%s %s", option,
                        *json_string_value(value) ? json_string_value(value) : "(none)");
    else
        qkv_io_text_add(out, "%s %g", option, json_number_value(value));
}

/* Do all runs have the option (other tasks have others), and some another value? */
static bool differs(const members *all, const char *key) {
    bool other = false;
    for (int i = 0; i < all->n; i++) {
        json_t *x = json_object_get(all->of[i].config, key);
        if (!x) return false;
        other = other || !json_equal(x, json_object_get(all->of[0].config, key));
    }
    return other;
}

static void add_options(const members *all, const member *one, qkv_io_text *out) {
    const char *key;
    json_t *value;
    const size_t before = out->n;
    json_object_foreach(one->config, key, value) {
        if (!differs(all, key)) continue;
        if (out->n > before) qkv_io_text_add(out, ", ");
        add_option(out, key, value);
    }
}

/* Of one run its path and what it has that not all have; of several that, how many, and their seeds. */
static const char *name_of(const members *all, int group, tensor_arena *arena) {
    qkv_io_text text = {.arena = arena};
    const member *first = all->of;
    char shown[48];
    int n = 0;
    while (first->group != group) first++;
    for (int i = 0; i < all->n; i++) n += all->of[i].group == group;
    if (n == 1) qkv_io_text_add(&text, "%s", qkv_io_printable(first->path, shown, sizeof shown));
    if (n == 1 && all->groups > 1) qkv_io_text_add(&text, ": ");
    add_options(all, first, &text);
    if (n > 1) qkv_io_text_add(&text, "%smean of %d runs, seeds", text.n ? ": " : "", n);
    for (int i = 0; i < all->n && n > 1; i++)
        if (all->of[i].group == group)
            qkv_io_text_add(&text, "%s %ld", &all->of[i] == first ? "" : ",", all->of[i].seed);
    return text.failed ? first->path : text.at;
}

/* ---- curves ---- */

static void add_number(qkv_io_text *out, double sum, int n, int of) {
    qkv_io_text_add(out, ",");
    if (n == of) qkv_io_text_number(out, sum / n);
}

/* The row of that step; -1: there is none. */
static int row_at(const qkv_plot_columns *c, double step) {
    double x;
    for (int row = 0; row < c->table.rows; row++)
        if (qkv_io_table_number(&c->table, row, c->step, &x) && x == step) return row;
    return -1;
}

/* The mean of a group at a step; nothing where not all of them have been. */
static void add_mean(const members *all, int group, double step, qkv_io_text *out) {
    const size_t columns = all->of[0].c.n;
    int rows[MOST_RUNS], n = 0;
    for (int i = 0; i < all->n; i++) {
        rows[i] = all->of[i].group == group ? row_at(&all->of[i].c, step) : -1;
        n += all->of[i].group == group;
        if (all->of[i].group == group && rows[i] < 0) return;
    }
    qkv_io_text_number(out, step);
    for (size_t k = 0; k < columns; k++) {
        double sum = 0, x;
        int known = 0;
        for (int i = 0; i < all->n; i++) {
            const qkv_plot_columns *c = &all->of[i].c;
            if (rows[i] < 0 || !qkv_io_table_number(&c->table, rows[i], c->at[k].index, &x))
                continue;
            sum += x;
            known++;
        }
        add_number(out, sum, known, n);
    }
    qkv_io_text_add(out, "\n");
}

static void add_group(const members *all, int group, qkv_io_text *out) {
    const member *first = all->of;
    double step;
    while (first->group != group) first++;
    qkv_io_text_add(out, "\n\n");
    qkv_plot_label(out, name_of(all, group, out->arena), NAME);
    qkv_io_text_add(out, ",mean,%d\n", group);
    for (int row = 0; row < first->c.table.rows; row++)
        if (qkv_io_table_number(&first->c.table, row, first->c.step, &step))
            add_mean(all, group, step, out);
}

static qkv_io_status add_run(const member *m, qkv_io_text *out, char *why) {
    char shown[256];
    qkv_io_text_add(out, "\n\n");
    qkv_plot_label(out, qkv_io_printable(m->path, shown, sizeof shown), NAME);
    qkv_io_text_add(out, ",run,%d\n", m->group);
    if (qkv_plot_columns_write(out, &m->c)) return QKV_IO_OK;
    return qkv_io_fail(why, "'%.200s' has no numbers for it in metrics.csv", shown), QKV_IO_FAILED;
}

qkv_io_status qkv_plot_several(qkv_io_text *out, const char *const *runs, int n, const char *source,
                               char *why) {
    members all = {.n = 0};
    qkv_io_status status =
        n <= MOST_RUNS ? qkv_plot_shared_levels(out, runs, n, why) : QKV_IO_FAILED;
    for (int i = 0; i < n && status == QKV_IO_OK; i++)
        status = read_one(&all, runs[i], source, out->arena, why);
    for (int g = 0; g < all.groups && status == QKV_IO_OK; g++) add_group(&all, g, out);
    for (int i = 0; i < all.n && status == QKV_IO_OK; i++) status = add_run(&all.of[i], out, why);
    for (int i = 0; i < all.n; i++) json_decref(all.of[i].config);
    return status;
}
