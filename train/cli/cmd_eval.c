/* cmd_eval.c - qkv eval: a trained run on held-out data, and what happens when one thing is
 * changed. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/io/text.h"
#include "train/probe/attention_map.h"
#include "train/probe/interventions.h"
#include "train/probe/look.h"

typedef struct {
    long examples;
    bool json;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_OPTIONS_STATE(request, state),
    CLI_INT(request, examples, "examples", "N", 2000, 1, 10000000, "held-out examples"),
    CLI_FLAG(request, json, "json", "one line of JSON"), CLI_END};

static void print_table(const qkv_probe_interventions *v) {
    if (!v->examples) {
        printf("Nothing is swapped: no example stores both what it asks for and a second entry.\n");
        return;
    }
    printf(
        "\nWhat follows from one change (t: the entry asked for, j: another one; %d examples)\n\n",
        v->examples);
    printf("%-36s looks at t      j  weight t      j   moved  says t's    j's\n", "");
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        const qkv_probe_intervention *c = &v->changed[i];
        cli_print("%-36s %8.1f%% %5.1f%%  %8.3f %6.3f  %6.3f  %7.1f%% %5.1f%%\n", c->name,
                  100 * c->looks_at_t, 100 * c->looks_at_j, c->attention_t, c->attention_j,
                  c->moved, 100 * c->says_t, 100 * c->says_j);
    }
    if (!v->cross.pairs)
        printf("\nScores and values of two examples are not joined: their entries never match.\n");
    else
        cli_print(
            "\nScores (Q and K) of one example with the values (V) of another: the answer is what "
            "the "
            "other example\n"
            "stores where this one looks in %.1f %%; this one's own answer %.1f %%, the other's "
            "%.1f "
            "%%.\n",
            100 * v->cross.says_y_at_t, 100 * v->cross.says_x, 100 * v->cross.says_y);
    printf("\nEach part of the memory's embedding, hidden from K or from V\n\n");
    printf("%-12s %-12s %9s %9s %8s\n", "K sees", "V sees", "accuracy", "in context", "weight t");
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++)
        cli_print("%-12s %-12s %8.1f%% %8.1f%% %8.3f\n", v->ablated[i].k_sees, v->ablated[i].v_sees,
                  100 * v->ablated[i].accuracy, 100 * v->ablated[i].in_context,
                  v->ablated[i].answer_attention);
}

static void print_exchanges(const qkv_probe_exchanges *x) {
    if (!x->examples) {
        printf(
            "No words are swapped: in no line is the answer a word that occurs there exactly "
            "once.\n");
        return;
    }
    printf(
        "\nWhat swapping words does (t: the answer, j: another word of the line, n: one "
        "that answers another line; %d examples)\n\n%-26s weight at t      at j   moved  says t    "
        "   j       n\n",
        x->examples, "");
    for (int i = 0; i < QKV_PROBE_EXCHANGES; i++) {
        const qkv_probe_exchange *c = &x->changed[i];
        cli_print("%-26s %11.3f %9.3f  %6.3f %6.1f%% %6.1f%% %6.1f%%\n", c->name, c->attention_t,
                  c->attention_j, c->moved, 100 * c->says_t, 100 * c->says_j, 100 * c->says_new);
    }
}

static json_t *json_exchanges(const qkv_probe_exchanges *x) {
    json_t *o = json_object(), *changed = json_array();
    for (int i = 0; i < QKV_PROBE_EXCHANGES && x->examples; i++) {
        const qkv_probe_exchange *c = &x->changed[i];
        json_array_append_new(
            changed,
            json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "name", c->key, "attention_t",
                      cli_json_number(c->attention_t), "attention_j",
                      cli_json_number(c->attention_j), "moved", cli_json_number(c->moved), "says_t",
                      cli_json_number(c->says_t), "says_j", cli_json_number(c->says_j), "says_new",
                      cli_json_number(c->says_new)));
    }
    json_object_set_new(o, "examples", json_integer(x->examples));
    json_object_set_new(o, "changed", changed);
    return o;
}

static json_t *json_interventions(const qkv_probe_interventions *v) {
    json_t *o = json_object(), *changed = json_array(), *ablated = json_array();
    for (int i = 0; i < QKV_PROBE_INTERVENTIONS; i++) {
        const qkv_probe_intervention *c = &v->changed[i];
        json_array_append_new(
            changed,
            json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name", c->name, "looks_at_t",
                      cli_json_number(c->looks_at_t), "looks_at_j", cli_json_number(c->looks_at_j),
                      "attention_t", cli_json_number(c->attention_t), "attention_j",
                      cli_json_number(c->attention_j), "moved", cli_json_number(c->moved), "says_t",
                      cli_json_number(c->says_t), "says_j", cli_json_number(c->says_j)));
    }
    for (int i = 0; i < QKV_PROBE_ABLATIONS; i++) {
        const qkv_probe_ablation *k = &v->ablated[i];
        json_array_append_new(
            ablated,
            json_pack("{s:s,s:s,s:o,s:o,s:o}", "k_sees", k->k_sees, "v_sees", k->v_sees, "accuracy",
                      cli_json_number(k->accuracy), "in_context", cli_json_number(k->in_context),
                      "answer_attention", cli_json_number(k->answer_attention)));
    }
    json_object_set_new(o, "examples", json_integer(v->examples));
    json_object_set_new(o, "changed", changed);
    json_object_set_new(
        o, "activation_patching",
        json_pack("{s:o,s:o,s:o}", "says_y_at_t", cli_json_number(v->cross.says_y_at_t), "says_x",
                  cli_json_number(v->cross.says_x), "says_y", cli_json_number(v->cross.says_y)));
    json_object_set_new(o, "ablated", ablated);
    return o;
}

static void print_json(const char *run, const qkv_run_moment *m, const qkv_trainer_levels *l,
                       const qkv_probe_interventions *v, const qkv_probe_exchanges *x) {
    json_t *o = json_object();
    json_object_set_new(o, "run", cli_json_text(run));
    json_object_set_new(o, "step", json_integer(m->step));
    cli_json_metrics(o, m);
    cli_json_levels(o, l);
    if (v) json_object_set_new(o, "interventions", json_interventions(v));
    if (x) json_object_set_new(o, "exchanges", json_exchanges(x));
    cli_print_json(o);
}

/* What to compare with, of a task that reads files or answers in vectors. */
static void print_levels(const qkv_trainer_levels *l) {
    for (int i = 0; i < l->n; i++) {
        if (isnan(l->at[i].loss) && isnan(l->at[i].accuracy)) continue;
        printf("  %-30s", l->at[i].who);
        if (!isnan(l->at[i].accuracy)) cli_print(" accuracy %.2f %%,", 100 * l->at[i].accuracy);
        if (isnan(l->at[i].loss))
            printf(" no loss\n");
        else
            cli_print(" loss %.4f\n", l->at[i].loss);
    }
}

/* Why there is no qk_diag, ov_diag and so on. */
static void print_no_circuits(const char *why) {
    char words[512];
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_io_text text = {.arena = arena, .failed = !arena};
    snprintf(words, sizeof words, "No circuits: %s.", why);
    qkv_io_text_wrap(&text, words, 0, 2, 80);
    printf("\n%s\n", text.failed ? words : text.at);
    tensor_arena_free(arena);
}

static void print_text(const char *run, const request *r, const qkv_run_moment *m,
                       const qkv_trainer_levels *l, bool compared, const qkv_probe_interventions *v,
                       const qkv_probe_exchanges *x, const char *no_circuits) {
    const qkv_trainer_scores *s = &m->scores;
    char shown[QKV_IO_PATH];
    printf("%s after %d steps, on %ld held-out examples: ",
           qkv_io_printable(run, shown, sizeof shown), m->step, r->examples);
    if (isnan(s->accuracy))
        cli_print("squared error %.4f", s->loss);
    else
        cli_print("accuracy %.2f %%, loss %.4f", 100 * s->accuracy, s->loss);
    if (!isnan(s->bits)) cli_print(", %.3f bits a character", s->bits);
    if (!isnan(s->answer_attention))
        cli_print(", attention on the answer %.3f", s->answer_attention);
    printf("\n");
    if (isnan(s->accuracy) || compared) print_levels(l);
    if (v) print_table(v);
    if (x) print_exchanges(x);
    if (no_circuits) print_no_circuits(no_circuits);
}

static int evaluate(void *asked, const cli_opened *run) {
    request *r = asked;
    qkv_trainer *t = run->t;
    char error[QKV_IO_ERROR], why[QKV_IO_ERROR] = "";
    qkv_probe_interventions v;
    qkv_probe_exchanges x;
    qkv_trainer_levels levels;
    bool asks = !qkv_probe_attention_missing(t), roles = asks && qkv_probe_has_nodes(t, "k v", why),
         words = !asks && qkv_trainer_spec(t)->scored < qkv_trainer_spec(t)->entries &&
                 !qkv_probe_words_missing(t);
    qkv_run_moment m = qkv_run_moment_new(run->arena, t);
    r->examples = data_at_most(qkv_trainer_spec(t), "test", (int)r->examples);
    if (!qkv_run_moment_look(t, "test", (int)r->examples, run->step, &m, error) ||
        (!qkv_trainer_loss_levels(t, "test", (int)r->examples, &levels) &&
         !qkv_trainer_fail(t, error)) ||
        (roles && !qkv_probe_intervene(t, "test", (int)r->examples, &v, error)) ||
        (words && !qkv_probe_exchange_words(t, "test", (int)r->examples, &x, error)))
        return cli_error(CLI_FAILED, "eval", "%s", error);
    if (!isfinite(m.scores.loss))
        return cli_error(CLI_DIVERGED, "eval", "the loss on held-out examples is not finite");
    cli_progress_end();
    if (r->json)
        print_json(run->run, &m, &levels, roles ? &v : NULL, words ? &x : NULL);
    else
        print_text(run->run, r, &m, &levels, qkv_trainer_spec(t)->task->levels, roles ? &v : NULL,
                   words ? &x : NULL, qkv_probe_circuits_missing(t));
    if (asks && !roles && !r->json) cli_print("Nothing is swapped: %s.\n", why);
    return CLI_OK;
}

int cli_eval(int argc, char **argv) {
    request r = {0};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    r.state.silent = r.json;
    return cli_look_at("eval", run, &r.state, evaluate, &r);
}
