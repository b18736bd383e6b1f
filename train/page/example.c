/* example.c - one held-out example as drawn and as changed by hand, and changes of the model. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/page/engine_internal.h"
#include "train/probe/explain.h"
#include "train/probe/look.h"

static bool no_run(qkv_page *p) { return !p->run && !qkv_io_fail(p->error, "there is no run"); }

static void copy_ids(const data_spec *s, const qkv_page_ids *from, qkv_page_ids *to) {
    for (int i = 0; i < DATA_SIDES; i++)
        for (int k = 0; k < s->side[i].n_streams; k++)
            memcpy(to->ids[i][k], from->ids[i][k], (size_t)s->side[i].T * sizeof(int));
}

/* The example's arrays in the worker's row b. */
static qkv_page_ids row_ids(const data_spec *s, const qkv_trainer_worker *w, int b) {
    qkv_page_ids row;
    for (int i = 0; i < DATA_SIDES; i++)
        for (int k = 0; k < s->side[i].n_streams; k++)
            row.ids[i][k] = w->data.rows.ids[i][k] + (ptrdiff_t)b * s->side[i].T;
    return row;
}

static bool is_scored(const data_spec *s, const qkv_trainer_worker *w, int position) {
    for (int r = 0; r < s->n_readouts; r++)
        if (w->data.rows.target[r][position] >= 0) return true;
    return false;
}

bool qkv_page_example(qkv_page *p, int number) {
    if (no_run(p)) return false;
    qkv_page_run *r = p->run;
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    if (number < 0) return qkv_io_fail(p->error, "there is no example %d", number);
    const int all = data_at_most(s, "test", INT_MAX);
    number %= all;  // after the last comes the first; qkv_page_words() says which it is
    qkv_trainer_load(r->t, w, "test", (uint64_t)number, 1, 1);
    qkv_page_ids row = row_ids(s, w, 0);
    copy_ids(s, &row, &r->drawn);
    copy_ids(s, &row, &r->changed);
    r->number = number;
    r->laid = false;
    r->question = w->rows[qkv_probe_question_row(r->t, w, 0)] % s->side[DATA_SEQUENCE].T;
    return true;
}

/* Is there that place, and has it that symbol? */
static bool can_hold(qkv_page *p, int side, int stream, int position, int id) {
    if (no_run(p)) return false;
    const data_spec *s = qkv_trainer_spec(p->run->t);
    bool there = side >= 0 && side < DATA_SIDES && stream >= 0 &&
                 stream < s->side[side].n_streams && position >= 0 && position < s->side[side].T;
    if (!there) return qkv_io_fail(p->error, "the example has no such place");
    if (id < -1 || id >= s->side[side].stream[stream].vocab)
        return qkv_io_fail(p->error, "%s has no symbol %d", s->side[side].stream[stream].name, id);
    return true;
}

bool qkv_page_set(qkv_page *p, int side, int stream, int position, int id) {
    if (!can_hold(p, side, stream, position, id)) return false;
    p->run->changed.ids[side][stream][position] = id;
    return true;
}

bool qkv_page_lay(qkv_page *p, int side, int stream, int position, int id) {
    if (!can_hold(p, side, stream, position, id)) return false;
    p->run->drawn.ids[side][stream][position] = p->run->changed.ids[side][stream][position] = id;
    p->run->laid = true;
    return true;
}

bool qkv_page_ask(qkv_page *p, int position) {
    if (no_run(p)) return false;
    const data_spec *s = qkv_trainer_spec(p->run->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(p->run->t);
    qkv_trainer_load(p->run->t, w, "test", (uint64_t)p->run->number, 1, 1);
    if (position < 0 || position >= s->side[DATA_SEQUENCE].T || !is_scored(s, w, position))
        return qkv_io_fail(p->error, "nothing is asked at position %d", position);
    p->run->question = position;
    return true;
}

/* Where the answer to the question stands once ids have changed: the one entry whose key is asked
 * for, or -1; NULL roles and several readouts: unknown, -1, too. */
static void judge(qkv_page_run *r, qkv_trainer_worker *w, int b) {
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_page_ids row = row_ids(s, w, b);
    int T = s->side[DATA_SEQUENCE].T, cell = b * T + r->question, found = -1, n = 0;
    for (int i = 0; s->roles.key >= 0 && s->n_readouts == 1 && i < s->entries; i++) {
        int key = row.ids[s->store][s->roles.key][i];
        if (!data_is_entry(s, row.ids[s->store][s->roles.key], row.ids[s->store][s->roles.value],
                           i) ||
            key >= data_symbols(data_key(s)) ||
            data_asks_for(s, key) != row.ids[DATA_SEQUENCE][s->roles.query][r->question])
            continue;
        found = i;
        n++;
    }
    int value = n == 1 ? row.ids[s->store][s->roles.value][found] : -1;
    for (int k = 0; k < s->n_readouts; k++) w->data.rows.source[k][cell] = -1;
    w->data.rows.source[0][cell] = n == 1 ? found : -1;
    if (value >= 0 && value < s->readout[0].classes) w->data.rows.target[0][cell] = value;
}

static bool differs(const data_spec *s, const qkv_page_ids *a, const qkv_page_ids *b) {
    for (int i = 0; i < DATA_SIDES; i++)
        for (int k = 0; k < s->side[i].n_streams; k++)
            if (memcmp(a->ids[i][k], b->ids[i][k], (size_t)s->side[i].T * sizeof(int))) return true;
    return false;
}

bool qkv_page_load(qkv_page *p, bool changed, int rows) {
    return p->run ? qkv_page_load_into(p, qkv_trainer_any_worker(p->run->t), changed, rows)
                  : !no_run(p);
}

bool qkv_page_load_into(qkv_page *p, qkv_trainer_worker *w, bool changed, int rows) {
    qkv_page_run *r = p->run;
    const data_spec *s = qkv_trainer_spec(r->t);
    int T = s->side[DATA_SEQUENCE].T;
    qkv_trainer_at_step(r->t, r->step);
    qkv_trainer_load(r->t, w, "test", (uint64_t)r->number, 1, 1);
    for (int b = 0; b < rows; b++) {
        qkv_page_ids row = row_ids(s, w, b);
        copy_ids(s, changed ? &r->changed : &r->drawn, &row);
        for (int k = 0; k < s->n_readouts; k++)
            for (int t = 0; t < T; t++) {
                int *cells[] = {w->data.rows.target[k], w->data.rows.source[k],
                                w->data.rows.distractor[k]};
                for (int i = 0; i < 3; i++)
                    cells[i][b * T + t] = t == r->question ? cells[i][t] : -1;
            }
        if (r->laid || (changed && differs(s, &r->changed, &r->drawn))) judge(r, w, b);
    }
    w->count = rows;
    qkv_trainer_reload(r->t, w);
    return true;
}

/* ---- changes of the model ---- */

bool qkv_page_hide(qkv_page *p, int what) {
    if (no_run(p)) return false;
    const data_spec *s = qkv_trainer_spec(p->run->t);
    if (what && (s->roles.key < 0 || !qkv_trainer_has_attention(p->run->t)))
        return qkv_io_fail(p->error, "the entries of this task are not made of a key and a value");
    p->run->changes.hide = what;
    return true;
}

bool qkv_page_silence(qkv_page *p, int head) {
    if (no_run(p)) return false;
    const qkv_config *c = qkv_trainer_config(p->run->t);
    if (head < -1 || head >= c->layers * c->heads)
        return qkv_io_fail(p->error, "there is no head %d", head);
    p->run->changes.silent = head;
    return true;
}

bool qkv_page_randomise(qkv_page *p, const char *name) {
    if (no_run(p)) return false;
    ag_param_entry *e = *name ? ag_params_find(qkv_trainer_params(p->run->t), name) : NULL;
    if (*name && !e) return qkv_io_fail(p->error, "there is no matrix '%.60s'", name);
    p->run->changes.random = e;
    return true;
}

/* A head's part of the mix is nothing. */
static void silence(ag_node *mix, void *ctx) {
    const qkv_page_run *r = ctx;
    const qkv_config *c = qkv_trainer_config(r->t);
    int width = tensor_width(mix->val.shape), E = width / c->heads,
        first = r->changes.silent % c->heads * E;
    for (size_t row = 0; row < mix->val.n / (size_t)width; row++)
        memset(mix->val.x + row * (size_t)width + first, 0, (size_t)E * sizeof(real));
}

/* Other numbers of the same size, the same ones each time. */
static bool randomise(qkv_page_run *r, qkv_page_applied *a) {
    tensor *w = &r->changes.random->val;
    if (!(a->kept = malloc(w->n * sizeof(real)))) return false;
    memcpy(a->kept, w->x, w->n * sizeof(real));
    double squares = 0;
    for (size_t i = 0; i < w->n; i++) squares += (double)w->x[i] * (double)w->x[i];
    rng g = rng_stream((uint64_t)qkv_trainer_config(r->t)->seed, r->changes.random->name, 1);
    double size = sqrt(3 * squares / (double)w->n);  // uniform in +-size has the same mean square
    for (size_t i = 0; i < w->n; i++) w->x[i] = (real)(size * (2 * rng_double(&g) - 1));
    return true;
}

/* K, or V, of the last layer as it is when it sees the entries without one of their parts. */
static bool hide(qkv_page *p, qkv_page_applied *a, int stream, const char *name) {
    qkv_page_run *r = p->run;
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    qkv_probe_hidden hidden;
    ag_node *embed = ag_find(w->graph, qkv_trainer_store_name(qkv_trainer_spec(r->t)));
    ag_node *node = qkv_probe_node(r->t, w, qkv_probe_last_layer(r->t), name);
    if (!embed || !qkv_probe_hide_new(p->scratch, r->t, w, stream, &hidden) ||
        !ag_hook(embed, qkv_probe_hide, &hidden))
        return false;
    bool ok = qkv_probe_replay(w) && qkv_probe_patch_take(p->scratch, node, &a->patch[a->patches]);
    ag_unhook(embed, qkv_probe_hide, &hidden);
    a->patches += ok;
    return ok;
}

bool qkv_page_apply(qkv_page *p, bool changed, qkv_page_applied *a) {
    qkv_page_run *r = p->run;
    const data_spec *s = qkv_trainer_spec(r->t);
    qkv_trainer_worker *w = qkv_trainer_any_worker(r->t);
    *a = (qkv_page_applied){.r = r};
    if (!changed) return true;
    bool ok = !r->changes.random || randomise(r, a);
    if (ok && r->changes.hide & QKV_PAGE_HIDE_VALUES_FROM_K) ok = hide(p, a, s->roles.value, "k");
    if (ok && r->changes.hide & QKV_PAGE_HIDE_KEYS_FROM_V) ok = hide(p, a, s->roles.key, "v");
    for (int i = 0; i < a->patches; i++) qkv_probe_patch_on(&a->patch[i]);
    if (ok && r->changes.silent >= 0) {
        a->mix =
            qkv_probe_node(r->t, w, r->changes.silent / qkv_trainer_config(r->t)->heads, "mix");
        ok = a->mix && ag_hook(a->mix, silence, r);
    }
    if (ok) return true;
    qkv_page_undo(a);
    return qkv_io_fail(p->error, "this model cannot be changed so");
}

void qkv_page_undo(qkv_page_applied *a) {
    if (a->mix) ag_unhook(a->mix, silence, a->r);
    for (int i = a->patches - 1; i >= 0; i--) qkv_probe_patch_off(&a->patch[i]);
    a->patches = 0;
    if (!a->kept) return;
    tensor *w = &a->r->changes.random->val;
    memcpy(w->x, a->kept, w->n * sizeof(real));
    free(a->kept);
    a->kept = NULL;
}
