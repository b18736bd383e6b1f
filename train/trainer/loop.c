/* loop.c - the training loop. */
#include "train/trainer/loop.h"

#include <math.h>

#include "train/io/given.h"
#include "train/io/number.h"

/* ---- what evaluations show ---- */

qkv_trainer_course qkv_trainer_course_start(void) {
    return (qkv_trainer_course){.steps99 = -1, .lowest = (double)INFINITY};
}

/* The number that a row of metrics.csv has. */
static double as_written(double x) {
    char text[QKV_IO_NUMBER];
    return qkv_io_parse_real(qkv_io_format_real(x, 9, text), &x) ? x : (double)NAN;
}

void qkv_trainer_course_note(qkv_trainer_course *course, const qkv_config *c, int step,
                             double accuracy, double loss) {
    accuracy = as_written(accuracy), loss = as_written(loss);
    if (course->steps99 < 0 && accuracy >= 0.99) course->steps99 = step;
    if (step % c->eval_every) return;  // the last one, which a longer run does not have
    course->without_gain++;
    if (loss < course->lowest) course->lowest = loss, course->without_gain = 0;
    course->enough = (c->until_accuracy > 0 && accuracy >= c->until_accuracy) ||
                     (c->patience > 0 && course->without_gain >= c->patience);
}

/* ---- the loop ---- */

static bool evaluate(qkv_trainer *t, int step, qkv_trainer_course *course,
                     const qkv_trainer_calls *calls, bool *left, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    qkv_trainer_scores s;
    qkv_trainer_at_step(t, step);
    if (!qkv_trainer_evaluate(t, "valid", 0, c->eval_examples, &s, error)) return false;
    qkv_trainer_course_note(course, c, step, s.accuracy, s.loss);
    *left = !calls->evaluated(calls->ctx, step, &s);
    return true;
}

qkv_trainer_outcome qkv_trainer_train(qkv_trainer *t, int *step, int end,
                                      qkv_trainer_course *course, const qkv_trainer_calls *calls,
                                      char *error) {
    if (!QKV_IO_GIVEN(error, t, step, calls) || (calls->evaluated && !QKV_IO_GIVEN(error, course)))
        return QKV_TRAINER_FAILED;
    const int every = qkv_trainer_config(t)->eval_every;
    for (;; ++*step) {
        qkv_trainer_step s;
        bool last = *step >= end, left = false,
             look = calls->evaluated && (last || *step % every == 0);
        if (look && !evaluate(t, *step, course, calls, &left, error)) return QKV_TRAINER_FAILED;
        if (left) return QKV_TRAINER_LEFT;
        last = last || (look && course->enough);
        if (last && !calls->measured) return QKV_TRAINER_ENDED;
        // at the end one more gradient is computed, for who measures it, but not applied
        if (!qkv_trainer_gradient(t, *step, &s, error))
            return s.diverged ? QKV_TRAINER_DIVERGED : QKV_TRAINER_FAILED;
        if (look && calls->measured && !calls->measured(calls->ctx, *step, &s))
            return QKV_TRAINER_LEFT;
        if (last) return QKV_TRAINER_ENDED;
        qkv_trainer_update(t, *step, &s);
        if (calls->updated && !calls->updated(calls->ctx, *step + 1, &s))
            return ++*step, QKV_TRAINER_LEFT;
    }
}
