/* cmd_sample.c - qkv sample: a model of text goes on with a text. */
#include <stdio.h>
#include <string.h>

#include "data/utf8.h"
#include "data/visible.h"
#include "train/cli/json.h"
#include "train/cli/open.h"
#include "train/cli/progress.h"
#include "train/io/text.h"
#include "train/probe/sample.h"

typedef struct {
    const char *prompt;
    long tokens, top_k, seed;
    double temperature;
    bool json;
    cli_state state;
} request;

static const cli_option options[] = {
    CLI_TEXT(request, prompt, "prompt", "TEXT", "what to go on with",
             .def = "what the text begins with"),
    CLI_INT(request, tokens, "tokens", "N", 200, 0, 10000000,
            "how many characters, bytes or words to add"),
    CLI_REAL(request, temperature, "temperature", "X", 1, 0, 1e6,
             "below 1: more often the likeliest; 0: always that"),
    CLI_INT(request, top_k, "top-k", "K", 0, 0, 2000000000,
            "draw from the K likeliest only; 0: from all"),
    CLI_INT(request, seed, "seed", "S", 1, 0, 2000000000, "another seed, another text"),
    CLI_OPTIONS_STATE(request, state),
    CLI_FLAG(request, json, "json", "one line of JSON, with each token's probability"),
    CLI_END};

/* ---- writing tokens ---- */

/* Characters come whole, also where a token is a byte; what is none, or would steer a terminal, as
 * data_visible() writes it. */
typedef struct {
    const data_text *text;
    int before;    // the token written last, or -1
    char part[8];  // of a character that is not complete
    size_t n;
    qkv_io_text *to;  // NULL: stdout
} writer;

static void put(writer *w, const char *s, size_t n) {
    if (w->to)
        qkv_io_text_put(w->to, s, n);
    else
        fwrite(s, 1, n, stdout);
}

/* Writes what is complete of the part; at the end all of it. */
static void flush(writer *w, bool end) {
    char shown[16];
    while (w->n > 0) {
        const unsigned char c = (unsigned char)*w->part;
        const size_t wanted = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
        const size_t whole = data_utf8_length(w->part, w->n), n = whole ? whole : 1;
        if (!whole && w->n < wanted && !end) return;
        if (whole && (w->to || c == '\n' || c == '\t' || data_visible_length(w->part, n)))
            put(w, w->part, n);
        else
            put(w, shown, strlen(data_visible(w->part, n, shown, sizeof shown)));
        w->n -= n;
        memmove(w->part, w->part + n, w->n);
    }
}

static void write_token(writer *w, int id) {
    if (data_text_apart(w->text, w->before, id)) put(w, " ", 1);
    const char *s = w->text->words.text[id];
    do {  // the byte 0 is a token, too
        w->part[w->n++] = *s;
        flush(w, false);
    } while (*s && *++s);
    w->before = id;
}

/* ---- sampling ---- */

typedef struct {
    const request *r;
    const data_text *text;
    qkv_probe_sampler *sampler;
    tensor_arena *arena;
    int *prompt, n;  // its tokens
    int *drawn;      // [r->tokens]
    double *p;
} session;

static bool read_prompt(session *s, char *error) {
    static const char *const plural[] = {"characters", "bytes", "words"};
    const char *prompt = s->r->prompt;
    const size_t n = prompt ? strlen(prompt) : 1;
    s->prompt = tensor_arena_take(s->arena, n + 1, sizeof *s->prompt);
    s->drawn = tensor_arena_take(s->arena, (size_t)s->r->tokens, sizeof *s->drawn);
    s->p = tensor_arena_take(s->arena, (size_t)s->r->tokens, sizeof *s->p);
    if (!s->prompt || !s->drawn || !s->p) return qkv_io_fail(error, "out of memory");
    s->n = 1;
    s->prompt[0] = s->text->ids[0];
    if (!prompt) return true;
    s->n = data_text_tokens(s->text, prompt, n, s->prompt, error, QKV_IO_ERROR);
    if (s->n == 0) return qkv_io_fail(error, "the prompt has no %s", plural[s->text->unit]);
    return s->n > 0;
}

static bool draw_all(session *s, writer *w, char *error) {
    const int V = s->text->words.n;
    const real *logits = qkv_probe_sampler_read(s->sampler, s->prompt, s->n, error);
    for (long i = 0; logits && i < s->r->tokens; i++) {
        rng random = rng_stream((uint64_t)s->r->seed, "sample", (uint64_t)i);
        const int id =
            qkv_probe_draw(logits, V, s->r->temperature, (int)s->r->top_k, &random, &s->p[i]);
        if (id < 0) return qkv_io_fail(error, "out of memory");
        s->drawn[i] = id;
        write_token(w, id);
        if (!w->to) fflush(stdout);
        if (i + 1 < s->r->tokens) logits = qkv_probe_sampler_read(s->sampler, &id, 1, error);
    }
    flush(w, true);
    return logits != NULL;
}

/* A token as it is; a byte that is no text by itself as data_visible() writes it. */
static json_t *json_token(const char *token) {
    const size_t n = *token ? strlen(token) : 1;  // the byte 0 is a token, too
    char shown[16];
    json_t *whole = json_stringn(token, n);
    return whole ? whole : json_string(data_visible(token, n, shown, sizeof shown));
}

static void print_json(const session *s, const char *run, const qkv_io_text *said) {
    json_t *o = json_object(), *tokens = json_array();
    for (long i = 0; i < s->r->tokens; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "token", json_token(s->text->words.text[s->drawn[i]]));
        json_object_set_new(one, "p", cli_json_number(s->p[i]));
        json_array_append_new(tokens, one);
    }
    json_object_set_new(o, "run", cli_json_text(run));
    json_object_set_new(o, "prompt", s->r->prompt ? cli_json_text(s->r->prompt) : json_null());
    json_object_set_new(o, "text", json_stringn(said->at ? said->at : "", said->n));
    json_object_set_new(o, "tokens", tokens);
    cli_print_json(o);
}

static bool sample(session *s, const char *run, char *error) {
    qkv_io_text said = {.arena = s->arena};
    writer w = {.text = s->text, .before = -1, .to = s->r->json ? &said : NULL};
    if (!read_prompt(s, error)) return false;
    for (int i = 0; i < s->n; i++) write_token(&w, s->prompt[i]);
    if (s->r->json) said.n = 0;  // what was added to the prompt
    if (s->r->tokens > 0 && !draw_all(s, &w, error)) return false;
    if (said.failed) return qkv_io_fail(error, "out of memory");
    if (s->r->json)
        print_json(s, run, &said);
    else
        putchar('\n');
    return true;
}

static int look(void *asked, const cli_opened *run) {
    char error[QKV_IO_ERROR];
    cli_progress_end();  // the text is its own progress
    session s = {.r = asked, .arena = run->arena, .text = data_text_of(qkv_trainer_spec(run->t))};
    s.sampler = qkv_probe_sampler_new(run->t, true, error);
    const bool ok = s.sampler && sample(&s, run->run, error);
    qkv_probe_sampler_free(s.sampler);
    return ok ? CLI_OK : cli_error(CLI_FAILED, "sample", "%s", error);
}

int cli_sample(int argc, char **argv) {
    request r = {0};
    const char *run;
    bool done;
    int code = cli_read_run(argc, argv, options, &r, &run, &done);
    if (code != CLI_OK || done) return code;
    return cli_look_at("sample", run, &r.state, look, &r);
}
