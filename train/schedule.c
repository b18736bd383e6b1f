#include "train/schedule.h"

#include "tensor/scalar.h"

double train_learning_rate(const train_config *c, int step) {
    if (step < c->warmup) return c->lr * (step + 1) / ((double)c->warmup + 1);
    if (c->schedule == TRAIN_CONSTANT) return c->lr;
    double span = (double)c->steps - c->warmup, done = span > 0 ? (step - c->warmup) / span : 1;
    if (done > 1) done = 1;
    return c->lr * (1 + tensor_cos(3.14159265358979323846 * done)) / 2;
}
