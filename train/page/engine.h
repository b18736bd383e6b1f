/* engine.h - a run that can be touched: what the page (page.html) calls, compiled to WebAssembly.
 *
 * One handle holds one run at one step. It can be moved to any step, forwards by training, backwards
 * by going on from a kept state: a run is a function of its configuration, so a step is had again
 * bit for bit. Beside it stands one held-out example, as it was drawn and as it was changed by hand;
 * everything that looks takes `changed`: the example and the model with what was changed, or without.
 *
 * A const char * that is returned is JSON or CSV, valid until the next call. false (or NULL): one
 * sentence in qkv_page_error(). No call changes what is trained but qkv_page_go() and those that begin or
 * restore a run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tensor/real.h"

typedef struct qkv_page qkv_page;

qkv_page *qkv_page_open(void);  // NULL: memory is out
void qkv_page_close(qkv_page *p);
const char *qkv_page_error(const qkv_page *p);

/* What is the same for all runs: the tasks, and the version. */
const char *qkv_page_table(qkv_page *p);

/* ---- a run ---- */

/* A new run at step 0. options: lines NAME=VALUE, names as on the command line or in config.json,
 * on top of what the task recommends. When it fails the old run stays. */
bool qkv_page_start(qkv_page *p, const char *options);

/* The run: what can be chosen for its task and what is, its symbols, what there is to look at. NULL
 * before a run. */
const char *qkv_page_describe(qkv_page *p);

int qkv_page_step(const qkv_page *p);

/* The last step: the option --steps, or, once training has been there, the earlier one at which
 * --until-accuracy or --patience ends it. */
int qkv_page_end(const qkv_page *p);

/* Towards a step from 0 to the last, training at most `most` steps; it is not there yet while
 * qkv_page_step() says another one. */
bool qkv_page_go(qkv_page *p, int step, int most);

/* Rows of metrics.csv in the order in which they were measured, from the given one on; row 0 is the
 * header. Steps between evaluations have none. */
const char *qkv_page_rows(qkv_page *p, int from);

/* ---- the example ---- */

/* Held-out example, as drawn; of few ones counted round, qkv_page_words() says which it is. */
bool qkv_page_example(qkv_page *p, int number);
const char *qkv_page_words(qkv_page *p);  // its ids as drawn and as changed

/* Puts one symbol as if it had been drawn, so that two runs can be asked the same. Until another example. */
bool qkv_page_lay(qkv_page *p, int side, int stream, int position, int id);

/* Changes one symbol; id -1: none. The question looked at is the scored position `position`. */
bool qkv_page_set(qkv_page *p, int side, int stream, int position, int id);
bool qkv_page_ask(qkv_page *p, int position);

/* ---- changes of the model ---- */

enum { QKV_PAGE_HIDE_KEYS_FROM_V = 1, QKV_PAGE_HIDE_VALUES_FROM_K = 2 };
bool qkv_page_hide(qkv_page *p, int what);               // a sum of these, for the last layer
bool qkv_page_silence(qkv_page *p, int head);            // counted through all layers; -1: none
bool qkv_page_randomise(qkv_page *p, const char *name);  // a matrix, at its own size; "": none

/* ---- looking ---- */

/* What is answered, and how the last layer's head comes to it (-1: the head that looks most at the
 * answer). Nodes then hold the example. */
const char *qkv_page_look(qkv_page *p, bool changed, int head);

/* The value of a node since the last look: the part of the example alone. dim gets up to 4 sizes, 0
 * after the last. NULL: there is none of that name. */
const real *qkv_page_node(qkv_page *p, const char *name, int *dim);

/* Attention [entries,S] of one head of the last layer when the key drawn for each entry in turn is
 * asked for, then answers as classes [entries]. NULL: the task has no keys, or several questions. */
const real *qkv_page_questions(qkv_page *p, bool changed, int head);

/* A map of circuits.h (0 to 3) [rows,cols]; then the six numbers of qkv_probe_circuits. NULL: none. */
const real *qkv_page_circuit(qkv_page *p, bool changed, int head, int which);

/* Accuracy and attention on the answer over held-out examples, with the changes of the model. */
const char *qkv_page_score(qkv_page *p, bool changed);

/* What a study or a sweep measures in the end, by name, over so many test examples: {"loss": ..., ...}. */
const char *qkv_page_test(qkv_page *p, int examples);

/* ---- inside one step ---- */

/* The question alone, forward and backward, as cards from embedding to loss, for one head of an
 * attention ("layer0.attn"; "": the model has none that could be shown). Then, of the card of that key
 * (NULL: none), what the number in a cell is made of, or its gradient. Only the changes of the example
 * count, not those of the model. */
const char *qkv_page_inside(qkv_page *p, bool changed, const char *prefix, int head,
                            const char *card, int cell, bool backward);

/* A card's numbers [rows,cols] since the last qkv_page_inside(), 0 where no gradient came; NULL: there is no
 * such card. */
const real *qkv_page_inside_numbers(qkv_page *p, const char *card, bool gradient);

/* What the next training step does: to each matrix, and to the question's right score, its weight, the
 * right logit and the loss, by matrix (tape.h). Afterwards all is as it was. */
const char *qkv_page_update(qkv_page *p, bool changed);

/* The step of a matrix since then, as the matrix stands; NULL: there is none of that name. */
const real *qkv_page_update_of(qkv_page *p, const char *name);

/* What lowers the held-out loss (ledger.h): the parts of the step that training takes next, over the first
 * 128 held-out examples. Afterwards all is as it was. */
const char *qkv_page_ledger_next(qkv_page *p);

/* The same of the straight line from the last kept state up to step `from` to the kept state after it, or
 * else to the present step. null: `from` is not before the present step. */
const char *qkv_page_ledger_after(qkv_page *p, int from);

/* ---- checkpoints ---- */

/* A new run from the text of a config.json, at step 0. When it fails the old run stays. */
bool qkv_page_begin(qkv_page *p, const char *config);

/* A new run from a checkpoint, at its step; or the present run goes to the step of one of its own. It is
 * read as the program reads it, and refused in the same words: then everything is as it was. */
bool qkv_page_open_checkpoint(qkv_page *p, const char *path);
bool qkv_page_restore(qkv_page *p, const char *path);

/* The present state as a checkpoint of *size bytes, to be released by free(). */
void *qkv_page_save(qkv_page *p, size_t *size);
