/* inside_look.c - looking inside one step: the question's cards as text, and their numbers. */
#include <stdio.h>
#include <string.h>

#include "train/io/json.h"
#include "train/page/engine_internal.h"
#include "train/probe/look.h"

enum { KEY = sizeof((qkv_page_card *)0)->key };

static int find(const qkv_page_cards *s, const char *key) {
    for (int i = 0; key && i < s->n; i++)
        if (strcmp(s->card[i].key, key) == 0) return i;
    return -1;
}

bool qkv_page_inside_load(qkv_page *p, bool changed) {
    qkv_page_run *r = p->run;
    if (!r) return qkv_io_fail(p->error, "there is no run");
    if (!r->tape.w && !qkv_probe_tape_new(r->t, false, r->arena, &r->tape, p->error)) return false;
    qkv_page_load_into(p, r->tape.w, changed, 1);
    for (int k = 0; k < DATA_MAXREADOUTS; k++) r->tape.w->weight[k] = 1;
    r->tape.row = 0;
    r->tape.question = r->question;
    return true;
}

/* Which sides the queries and keys of an attention are of, and the query that is looked at: the
 * question, or in an encoder the place where its answer stands. */
static void aim(qkv_page_run *r, const char *prefix, int head) {
    qkv_page_cards *s = &r->cards;
    const data_spec *spec = qkv_trainer_spec(r->t);
    const qkv_trainer_worker *w = r->tape.w;
    const bool encoder = strncmp(prefix, "encoder", 7) == 0,
               cross = strstr(prefix, ".cross") != NULL;
    snprintf(r->cards_prefix, sizeof r->cards_prefix, "%s", prefix);
    *s = (qkv_page_cards){.w = w, .prefix = r->cards_prefix, .head = head};
    s->queries = encoder ? DATA_MEMORY : DATA_SEQUENCE;
    s->keys = encoder || cross ? DATA_MEMORY : DATA_SEQUENCE;
    for (int i = 0; i < DATA_SIDES; i++)
        s->length[i] = spec->side[i].T ? data_length(&w->data, (data_side_name)i, 0) : 0;
    s->row = !encoder ? r->question : w->source[0][0] >= 0 ? w->source[0][0] : 0;
}

static void add_card(const qkv_page_cards *s, const qkv_page_card *c, qkv_io_text *out) {
    qkv_io_text_add(out, "{\"key\":\"%s\",\"node\":", c->key);
    qkv_io_json_put(out, c->node->name ? c->node->name : "");
    qkv_io_text_add(out, ",\"op\":\"%s\",\"rows\":%d,\"cols\":%d,\"side\":%d,\"reads\":[",
                    c->node->op ? c->node->op->name : "", c->rows, c->cols, c->side);
    qkv_page_cards_reads(s, c, out);
    qkv_io_text_add(out, "],\"by\":[");
    for (int k = 0, n = 0; k < c->node->n_in; k++) {
        if (!c->node->in[k]->param) continue;
        qkv_io_text_add(out, n++ ? "," : "");
        qkv_io_json_put(out, c->node->in[k]->name);
    }
    qkv_io_text_add(out, "]}");
}

static void add_cards(qkv_page_run *r, qkv_io_text *out) {
    const qkv_page_cards *s = &r->cards;
    const qkv_trainer_worker *w = s->w;
    qkv_io_text_add(out, "{\"step\":%d,\"prefix\":", r->step);
    qkv_io_json_put(out, s->prefix);
    qkv_io_text_add(out, ",\"head\":%d,\"row\":%d,\"source\":%d,\"targets\":[", s->head, s->row,
                    w->source[0][0]);
    for (int k = 0; k < qkv_trainer_spec(r->t)->n_readouts; k++)
        qkv_io_text_add(out, "%s%d", k ? "," : "", w->target[k][0]);
    qkv_io_text_add(out, "],\"seen\":[");
    for (int i = 0; i < s->length[s->keys]; i++) {
        bool sees = qkv_probe_side_sees(r->t, w, (data_side_name)s->queries,
                                        (data_side_name)s->keys, 0, s->row, i);
        qkv_io_text_add(out, "%s%s", i ? "," : "", sees ? "true" : "false");
    }
    qkv_io_text_add(out, "],\"list\":[");
    for (int i = 0; i < s->n; i++) {
        qkv_io_text_add(out, i ? "," : "");
        add_card(s, &s->card[i], out);
    }
    qkv_io_text_add(out, "]");
}

const char *qkv_page_inside(qkv_page *p, bool changed, const char *prefix, int head,
                            const char *card, int cell, bool backward) {
    qkv_page_run *r = p->run;
    qkv_io_text out = qkv_page_text_new(p);
    if (!qkv_page_inside_load(p, changed) || !qkv_probe_tape_run(&r->tape, true, p->error))
        return NULL;
    if (head < 0 || head >= qkv_trainer_config(r->t)->heads ||
        strlen(prefix) >= sizeof r->cards_prefix) {
        qkv_io_fail(p->error, "there is no head %d of '%.60s'", head, prefix);
        return NULL;
    }
    aim(r, prefix, head);
    qkv_page_cards_find(&r->cards, qkv_trainer_config(r->t), qkv_trainer_spec(r->t));
    add_cards(r, &out);
    const int which = find(&r->cards, card);
    const bool there =
        which >= 0 && cell >= 0 && cell < r->cards.card[which].rows * r->cards.card[which].cols;
    qkv_io_text_add(&out, ",\"card\":\"%s\",\"cell\":%d", there ? card : "", there ? cell : -1);
    if (there && !qkv_page_cards_why(&r->cards, which, cell, backward, &out, p->error)) return NULL;
    qkv_io_text_add(&out, "}");
    return qkv_page_text_end(p, &out);
}

const real *qkv_page_inside_numbers(qkv_page *p, const char *key, bool gradient) {
    qkv_page_run *r = p->run;
    const int i = r ? find(&r->cards, key) : -1;
    if (i < 0) return NULL;
    const qkv_page_card *c = &r->cards.card[i];
    tensor_arena_reset(p->scratch);
    real *x = tensor_arena_reals(p->scratch, (size_t)c->rows * (size_t)c->cols);
    const real *from = gradient ? (c->node->has_grad ? c->node->grad : NULL) : c->node->val.x;
    for (int row = 0; x && row < c->rows; row++)
        for (int col = 0; col < c->cols; col++)
            x[row * c->cols + col] = from ? from[c->from + row * c->down + col] : 0;
    return x;
}
