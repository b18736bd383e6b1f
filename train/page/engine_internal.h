/* engine_internal.h - what the files of the engine share. */
#pragma once

#include "train/page/engine.h"
#include "train/page/inside.h"
#include "train/probe/hide.h"
#include "train/probe/ledger.h"
#include "train/probe/observe.h"
#include "train/probe/tape.h"
#include "train/run/layout.h"
#include "train/run/metrics.h"
#include "train/trainer/loop.h"

/* The bytes of kept states at first allowed (when there are more, every second one goes); the steps
 * between them. */
enum { QKV_PAGE_STATES = 64 << 20, QKV_PAGE_SPACING = 10 };

/* Parameters and moments after `step` steps. */
typedef struct {
    int step;
    bool pinned;  // never goes: the beginning, and what was opened
    real *x;
} qkv_page_state;

/* A row of metrics.csv, malloc'd. */
typedef struct {
    int step;
    char *text;
} qkv_page_row;

/* An example: ids of each side's streams. */
typedef struct {
    int *ids[DATA_SIDES][DATA_MAXSTREAMS];
} qkv_page_ids;

/* What is changed by hand in the model, and how it is undone. */
typedef struct {
    int hide, silent;  // silent: layer * heads + head, or -1
    ag_param_entry *random;
} qkv_page_changes;

typedef struct {
    qkv_trainer *t;
    tensor_arena *arena;
    bool has_circuits, has_gradient, diverged;
    int step;
    qkv_run_moment now;
    qkv_trainer_step gradient;
    qkv_io_watch watch;
    qkv_trainer_course course;  // of the rows up to step `noted`
    int noted, end;             // end: the last step, as options and course have it
    qkv_page_row *row;
    int rows, rows_room;
    qkv_page_state *state;
    int states, states_room, spacing;
    size_t budget;         // bytes of states
    int number, question;  // the example; the scored position that is looked at
    qkv_page_ids drawn, changed;
    bool laid;  // symbols of drawn are not those of the example
    qkv_page_changes changes;
    qkv_probe_tape tape;    // the question alone; .w NULL: nobody looked inside yet
    qkv_page_cards cards;   // of the last look inside; their nodes hold it
    char cards_prefix[64];  // the attention that it was
    tensor_arena *looking;  // what a look at the next update needs
    qkv_probe_tape_update update;
    qkv_probe_ledger *ledger;  // NULL: nobody asked yet
    real *beside, *after;      // a state, and parameters, for the ledger; NULL: as above
    qkv_run_layout layout;
    qkv_run_layout_state progress;
} qkv_page_run;

struct qkv_page {
    qkv_page_run *run;  // NULL before the first
    tensor_arena *scratch;
    char error[QKV_IO_ERROR];
};

/* A run at step 0 by this configuration, which is resolved; NULL with a sentence. The second makes it the
 * page's, shows its first example and measures: false, and all as it was, for NULL or when that fails. */
qkv_page_run *qkv_page_run_new(qkv_page *p, qkv_config *c);
bool qkv_page_take(qkv_page *p, qkv_page_run *r);
void qkv_page_run_free(qkv_page_run *r);

/* Parameters and moments were overwritten in place by those after `step` steps: such a state is kept. */
bool qkv_page_at_step(qkv_page *p, qkv_page_run *r, int step);

/* Between the trainer and flat memory of so many numbers: parameters, then moments. */
size_t qkv_page_state_size(const qkv_page_run *r);
void qkv_page_state_copy(qkv_page_run *r, real *x, bool out);

/* The latest kept state up to a step; NULL: none. */
const qkv_page_state *qkv_page_state_up_to(const qkv_page_run *r, int step);

/* An empty text in the scratch memory, which is emptied. */
qkv_io_text qkv_page_text_new(qkv_page *p);

/* JSON: a number, null if it is not finite; the finished text, NULL when memory ran out. */
void qkv_page_text_real(qkv_io_text *out, double x);
const char *qkv_page_text_end(qkv_page *p, qkv_io_text *out);

/* Loads the example into the first `rows` rows of the worker, only the question scored. False: there
 * is no run. */
bool qkv_page_load(qkv_page *p, bool changed, int rows);
bool qkv_page_load_into(qkv_page *p, qkv_trainer_worker *w, bool changed, int rows);

/* The same into the graph of one example (run->tape); the question's loss counts once. */
bool qkv_page_inside_load(qkv_page *p, bool changed);

/* Can every key be asked for, and be answered with a class? */
bool qkv_page_can_ask(const qkv_page_run *r);

/* The model's changes, put on for what is loaded, and taken off again. */
typedef struct {
    qkv_page_run *r;
    qkv_probe_patch patch[2];
    int patches;
    ag_node *mix;
    real *kept;  // of a matrix that is random for now
} qkv_page_applied;
bool qkv_page_apply(qkv_page *p, bool changed, qkv_page_applied *a);
void qkv_page_undo(qkv_page_applied *a);
