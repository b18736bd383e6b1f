/* optimizer.h - how a gradient becomes a step: SGD with momentum, Adam, AdamW and Muon.
 *
 *     qkv_optim adam;
 *     qkv_optim_init(&adam, arena, params, qkv_optim_adam(0.003));
 *     for (...) { ... ag_forward(g); ag_backward(loss, NULL); qkv_optim_step(&adam, g); }
 *
 * Source: Kingma and Ba, "Adam", 2015, algorithm 1 (eps outside the root, both moments
 * bias-corrected); Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019,
 * algorithm 2; Muon: see muon.c. */
#pragma once

#include "autograd/ag.h"
#include "train/optim/schedule.h"

TENSOR_C_BEGIN

typedef struct qkv_optim_rule qkv_optim_rule;

enum { QKV_OPTIM_MOMENTS = 2 };  // the most that a method keeps of a parameter

/* A method: one entry of the table in optimizer.c. */
typedef struct {
    const char *name;                       // "adam"
    const char *moment[QKV_OPTIM_MOMENTS];  // what it keeps, as a checkpoint calls it; NULL: less
    /* Updates n numbers w from their gradient g. m: its moments of these, 0 before the first step;
     * decay: the strength of weight decay here. */
    void (*update)(const qkv_optim_rule *r, real decay, size_t n, real *w, const real *g,
                   real *const m[QKV_OPTIM_MOMENTS]);
    /* NULL, or the same for a matrix [rows,cols] that is no table of embeddings; with memory for
     * QKV_OPTIM_SCRATCH times its numbers. */
    void (*matrix)(const qkv_optim_rule *r, real decay, int rows, int cols, real *w, const real *g,
                   real *const m[QKV_OPTIM_MOMENTS], real *scratch);
} qkv_optim_method;

enum { QKV_OPTIM_SCRATCH = 4 };

/* The methods: X(constant, word, function, the same for a matrix, what it keeps ...). */
#define QKV_OPTIM_METHODS(X)                                   \
    X(QKV_OPTIM_SGD, "sgd", sgd, NULL, "mean")                 \
    X(QKV_OPTIM_ADAM, "adam", adam, NULL, "mean", "square")    \
    X(QKV_OPTIM_ADAMW, "adamw", adamw, NULL, "mean", "square") \
    X(QKV_OPTIM_MUON, "muon", adamw, qkv_optim_muon, "mean", "square")
enum { QKV_OPTIM_METHODS(TENSOR_CONSTANT) };
extern const qkv_optim_method qkv_optim_methods[];  // by these numbers; a NULL name ends it

/* What is chosen for a whole training. */
typedef struct {
    int method;
    int first_step;  // before which its moments are 0
    qkv_optim_schedule schedule;
    double momentum;           // of sgd
    double beta1, beta2, eps;  // of adam: decay of mean and mean square; added to the root
    double weight_decay;  // on matrices only; decoupled in adamw and muon, else in the gradient
    double clip;          // greatest gradient norm; 0: no limit
} qkv_optim_settings;

/* Adam as its authors recommend it, at a constant rate. */
qkv_optim_settings qkv_optim_adam(double rate);

/* What is the same for all parameters in one step. */
struct qkv_optim_rule {
    const qkv_optim_method *method;
    double lr, momentum, beta1, beta2, eps, weight_decay;
    double correction1, correction2;  // 1 - beta^t
    double grad_scale;                // < 1 when the gradient is clipped
};

/* The rule of step (from 0), for a gradient of this norm. */
qkv_optim_rule qkv_optim_rule_at(const qkv_optim_settings *s, int step, double grad_norm);

/* Can the moments hold a gradient of this norm? Where the square of one overflows, a mean square
 * would be infinite, and its weight would never move again. */
bool qkv_optim_holds(const qkv_optim_rule *r, double grad_norm);

/* Updates n numbers of a parameter. decay: whether weight decay applies to it. */
void qkv_optim_apply(const qkv_optim_rule *rule, bool decay, size_t n, real *w, const real *g,
                     real *const m[QKV_OPTIM_MOMENTS]);

/* ---- all parameters ---- */

typedef struct {
    qkv_optim_settings settings;
    ag_params *params;
    real *moment[QKV_OPTIM_MOMENTS];  // flat, as ag_param_entry.offset says
    real *scratch;  // QKV_OPTIM_SCRATCH times as large; NULL: the method needs none
    /* [parameters] what a parameter's rate, and its gradient, is multiplied by; whether it moves (0: it
     * stands still with its moments); NULL: 1. The caller's. */
    const double *rate, *gradient, *moves;
    int step;  // steps taken
} qkv_optim;

/* For all parameters there are; more may not be added later. params and arena must outlive it, and
 * nothing need be freed. False when memory is out, also for one of these (NULL). */
bool qkv_optim_init(qkv_optim *o, tensor_arena *arena, ag_params *params, qkv_optim_settings s);

/* Is the parameter frozen, or held? */
bool qkv_optim_stays(const qkv_optim *o, int param);

/* Updates one parameter (numbered as ag_params_at() does; one that stays does) from the flat
 * gradient of all. Parameters can be updated side by side by several threads. */
void qkv_optim_update(qkv_optim *o, const qkv_optim_rule *rule, int param, const real *grads);

/* One step along the gradients that g's backward passes added up, in its own buffer or the caller's,
 * which are then zeroed. Parameters that are frozen, or that nothing was added for (ag_param_grad), stay,
 * and count neither in the norm nor in clipping. Returns the norm (0 where no
 * backward pass was run); infinity if the moments cannot hold
 * it, NaN if the graph has an error; if that is not finite, nothing was changed. */
double qkv_optim_step(qkv_optim *o, ag_graph *g);

TENSOR_C_END
