/* engine.c - a run at one step: begun, trained, and taken back to an earlier step. */
#include "train/page/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/page/engine_internal.h"
#include "train/probe/look.h"

static void *grown(void *list, int n, int *room, size_t size) {
    if (n < *room) return list;
    void *more = realloc(list, (size_t)(2 * *room + 16) * size);
    if (more) *room = 2 * *room + 16;
    return more;
}

qkv_page *qkv_page_open(void) {
    qkv_page *p = calloc(1, sizeof *p);
    if (p && !(p->scratch = tensor_arena_new(NULL))) free(p), p = NULL;
    return p;
}

void qkv_page_run_free(qkv_page_run *r) {
    if (!r) return;
    for (int i = 0; i < r->rows; i++) free(r->row[i].text);
    for (int i = 0; i < r->states; i++) free(r->state[i].x);
    free(r->row);
    free(r->state);
    qkv_run_layout_free(&r->layout);
    if (r->looking) tensor_arena_free(r->looking);
    qkv_probe_ledger_free(r->ledger);
    tensor_arena_free(r->arena);
    qkv_trainer_free(r->t);
    free(r);
}

void qkv_page_close(qkv_page *p) {
    if (!p) return;
    qkv_page_run_free(p->run);
    tensor_arena_free(p->scratch);
    free(p);
}

const char *qkv_page_error(const qkv_page *p) { return p->error; }

int qkv_page_step(const qkv_page *p) { return p->run ? p->run->step : 0; }
int qkv_page_end(const qkv_page *p) { return p->run ? p->run->end : 0; }

/* ---- kept states ---- */

size_t qkv_page_state_size(const qkv_page_run *r) {
    const qkv_optim *o = qkv_trainer_optim(r->t);
    return ag_params_size(o->params) * (size_t)(1 + QKV_OPTIM_MOMENTS);
}

void qkv_page_state_copy(qkv_page_run *r, real *x, bool out) {
    const qkv_optim *o = qkv_trainer_optim(r->t);
    size_t size = ag_params_size(o->params);
    qkv_probe_params_copy(o->params, x, !out);
    for (int m = 0; m < QKV_OPTIM_MOMENTS; m++) {
        real *at = x + (size_t)(1 + m) * size;
        if (o->moment[m])
            memcpy(out ? at : o->moment[m], out ? o->moment[m] : at, size * sizeof *x);
    }
}

/* The ledger begins a row where the scores open (ledger.h). */
static bool is_kept(const qkv_page_run *r, int step) {
    return step % r->spacing == 0 || step == qkv_trainer_config(r->t)->scores_from;
}

/* Drops every state that is not on the (doubled) spacing. */
static void thin(qkv_page_run *r) {
    int kept = 0;
    r->spacing *= 2;
    for (int i = 0; i < r->states; i++) {
        if (r->state[i].pinned || is_kept(r, r->state[i].step))
            r->state[kept++] = r->state[i];
        else
            free(r->state[i].x);
    }
    r->states = kept;
}

/* Keeps the state as it stands; running out of memory only makes going back slower. */
static bool keep(qkv_page_run *r, bool pinned) {
    for (int i = 0; i < r->states; i++)
        if (r->state[i].step == r->step && !pinned) return true;
    if (!pinned && (size_t)(r->states + 1) * qkv_page_state_size(r) * sizeof(real) > r->budget) {
        thin(r);
        if (!is_kept(r, r->step)) return true;
    }
    qkv_page_state *list = grown(r->state, r->states, &r->states_room, sizeof *r->state);
    if (!list) return false;
    r->state = list;
    real *x = calloc(qkv_page_state_size(r), sizeof *x);
    if (!x) return false;
    qkv_page_state_copy(r, x, true);
    r->state[r->states++] = (qkv_page_state){r->step, pinned, x};
    return true;
}

const qkv_page_state *qkv_page_state_up_to(const qkv_page_run *r, int step) {
    const qkv_page_state *best = NULL;
    for (int i = 0; i < r->states; i++) {
        const qkv_page_state *s = &r->state[i];
        if (s->step <= step && (!best || s->step >= best->step)) best = s;
    }
    return best;
}

/* Goes to the latest kept state up to `step`, unless the present one is nearer. */
static void go_to_state(qkv_page_run *r, int step) {
    const qkv_page_state *best = qkv_page_state_up_to(r, step);
    if (!best || (r->step <= step && r->step >= best->step)) return;
    qkv_page_state_copy(r, best->x, false);
    r->step = best->step;
    r->has_gradient = r->diverged = false;
}

/* ---- training ---- */

static bool compute_gradient(qkv_page *p) {
    qkv_page_run *r = p->run;
    if (r->diverged) return false;
    if (!r->has_gradient) {
        r->has_gradient = qkv_trainer_gradient(r->t, r->step, &r->gradient, p->error);
        r->diverged = r->gradient.diverged;
    }
    return r->has_gradient;
}

static bool measure(qkv_page *p) {
    qkv_page_run *r = p->run;
    const qkv_config *c = qkv_trainer_config(r->t);
    int head = 0, heads = (c->layers - 1) * c->heads;
    qkv_trainer_at_step(r->t, r->step);
    if (!qkv_trainer_evaluate(r->t, "valid", 0, c->eval_examples, &r->now.scores, p->error))
        return false;
    for (int h = 1; h < c->heads; h++)
        if (r->now.scores.head_attention[heads + h] > r->now.scores.head_attention[heads + head])
            head = h;
    if (r->now.has_circuits) qkv_probe_circuits_read(r->t, c->layers - 1, head, &r->now.circuits);
    r->now.step = r->step;
    r->now.lr = qkv_trainer_rate(r->t, r->step);
    r->now.seconds = qkv_io_watch_read(&r->watch);
    return true;
}

static bool add_row(qkv_page *p, int step, const qkv_io_text *text) {
    qkv_page_run *r = p->run;
    qkv_page_row *rows = grown(r->row, r->rows, &r->rows_room, sizeof *rows);
    if (rows) r->row = rows;
    char *copy = rows && !text->failed ? strdup(text->at) : NULL;
    if (!copy) return qkv_io_fail(p->error, "out of memory");
    r->row[r->rows++] = (qkv_page_row){step, copy};
    return true;
}

/* Rows come in the order of steps while nothing was opened: then the course is that of a run. */
static void note(qkv_page_run *r) {
    if (r->step <= r->noted) return;
    r->noted = r->step;
    qkv_trainer_course_note(&r->course, qkv_trainer_config(r->t), r->step, r->now.scores.accuracy,
                            r->now.scores.loss);
    if (r->course.enough) r->end = r->step;
}

/* Measures the present step if its row is due and not there. */
static bool record(qkv_page *p) {
    qkv_page_run *r = p->run;
    const qkv_config *c = qkv_trainer_config(r->t);
    if (r->step % c->eval_every != 0 && r->step != r->end) return true;
    for (int i = r->rows - 1; i >= 0; i--)
        if (r->row[i].step == r->step) return true;
    if (!measure(p) || !compute_gradient(p)) return false;
    r->now.loss = r->gradient.loss;
    qkv_io_text row = qkv_page_text_new(p);
    qkv_run_metrics_row(r->t, &r->now, &row);
    if (!add_row(p, r->step, &row)) return false;
    note(r);
    return true;
}

bool qkv_page_go(qkv_page *p, int step, int most) {
    qkv_page_run *r = p->run;
    if (!r) return qkv_io_fail(p->error, "there is no run");
    if (step < 0) step = 0;
    if (step > r->end) step = r->end;
    go_to_state(r, step);
    for (int i = 0; record(p); i++) {
        if (r->step >= step || r->step >= r->end || i >= most) return true;
        if (!compute_gradient(p)) return false;
        qkv_trainer_update(r->t, r->step, &r->gradient);
        r->step++;
        r->has_gradient = false;
        if (is_kept(r, r->step)) keep(r, false);
    }
    return false;
}

bool qkv_page_at_step(qkv_page *p, qkv_page_run *r, int step) {
    r->step = step;
    r->has_gradient = r->diverged = false;
    qkv_trainer_at_step(r->t, step);
    return keep(r, true) || qkv_io_fail(p->error, "out of memory");
}

/* ---- beginning ---- */

/* Sets one option from NAME=VALUE; the sentence is that of the command line. */
static bool set_option(qkv_config *c, char *line, char *error) {
    char why[QKV_IO_ERROR];
    char *value = strchr(line, '=');
    if (!value) return qkv_io_fail(error, "'%.60s' is not NAME=VALUE", line);
    *value++ = '\0';
    const data_option *o = qkv_config_option_named(c, line);
    if (!o) o = qkv_config_option_find(c, line);
    if (!o) return qkv_config_unknown(c, line, error);
    return qkv_config_set(c, o, value, why) || qkv_io_fail(error, "--%.60s: %.400s", line, why);
}

/* The task first, then what it recommends, then all options. */
static bool configure(qkv_config *c, const char *options, char *error) {
    qkv_config_default(c);
    for (int pass = 0; pass < 2; pass++) {
        char *copy = strdup(options), *rest = NULL;
        bool ok = copy != NULL || qkv_io_fail(error, "out of memory");
        for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; ok && line;
             line = strtok_r(NULL, "\n", &rest))
            if (pass == 1 || strncmp(line, "task=", 5) == 0) ok = set_option(c, line, error);
        free(copy);
        if (!ok) return false;
        if (!qkv_config_task(c)) return qkv_config_no_task(c, error);
        if (pass == 0 && !qkv_config_recommend(c, error)) return false;
    }
    if (*c->from || *c->swap_matrix)
        return qkv_io_fail(error,
                           "--%s: the page has no other run; train the branch with qkv train, and "
                           "open it with qkv view",
                           *c->from ? "from" : "swap-matrix");
    return true;
}

/* The parts of a run whose options stand. */
static bool prepare(qkv_page *p, qkv_page_run *r, const qkv_config *c, const data_spec *spec) {
    r->arena = tensor_arena_new(NULL);
    if (!r->arena) return qkv_io_fail(p->error, "out of memory");
    r->t = qkv_trainer_new(NULL, c, spec, 1, p->error);
    if (!r->t) return false;
    ag_graph *g = qkv_trainer_any_worker(r->t)->graph;
    ag_stream(g, 0);  // whoever opens the page looks
    if (ag_error(g)) return qkv_io_fail(p->error, "%s", ag_error(g));
    r->has_circuits = r->now.has_circuits =
        qkv_probe_circuits_new(r->arena, r->t, &r->now.circuits);
    r->spacing = QKV_PAGE_SPACING;
    r->budget = QKV_PAGE_STATES;
    r->course = qkv_trainer_course_start();
    r->noted = -1;
    r->end = c->steps;
    r->changes.silent = -1;
    r->watch = qkv_io_watch_start();
    for (int i = 0; i < DATA_SIDES; i++)
        for (int k = 0; k < spec->side[i].n_streams; k++) {
            size_t T = (size_t)spec->side[i].T;
            r->drawn.ids[i][k] = tensor_arena_take(r->arena, T, sizeof(int));
            r->changed.ids[i][k] = tensor_arena_take(r->arena, T, sizeof(int));
            if (!r->drawn.ids[i][k] || !r->changed.ids[i][k])
                return qkv_io_fail(p->error, "out of memory");
        }
    r->progress = (qkv_run_layout_state){.best_step = -1, .best_loss = (double)INFINITY};
    if (!qkv_run_layout_init(&r->layout, r->t, &r->progress) || !keep(r, true))
        return qkv_io_fail(p->error, "out of memory");
    return true;
}

qkv_page_run *qkv_page_run_new(qkv_page *p, qkv_config *c) {
    data_spec spec;
    if (!qkv_config_resolve(c, &spec, p->error)) return NULL;
    qkv_page_run *r = calloc(1, sizeof *r);
    bool ok = r ? prepare(p, r, c, &spec) : qkv_io_fail(p->error, "out of memory");
    data_release(&spec);  // the trainer has its own hold on it
    if (ok) return r;
    qkv_page_run_free(r);
    return NULL;
}

bool qkv_page_take(qkv_page *p, qkv_page_run *r) {
    qkv_page_run *old = p->run;
    if (!r) return false;
    p->run = r;
    if (qkv_page_example(p, 0) && record(p)) {
        qkv_page_run_free(old);
        return true;
    }
    p->run = old;
    qkv_page_run_free(r);
    return false;
}

bool qkv_page_start(qkv_page *p, const char *options) {
    qkv_config c;
    return configure(&c, options, p->error) && qkv_page_take(p, qkv_page_run_new(p, &c));
}
