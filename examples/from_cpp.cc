// from_cpp.cc - the same headers from C++: train with the library's trainer, then reach into the
// model while it runs.
//
//     c++ from_cpp.cc $(pkg-config --cflags --libs qkv) -o from_cpp && ./from_cpp
//
// Where train.c writes the loop out, this one leaves the model, micro-batches and Adam to qkv_trainer,
// and asks afterwards: what if every position had to look everywhere alike?
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "train/trainer/trainer.h"

namespace {

struct free_trainer {
    void operator()(qkv_trainer *t) const { qkv_trainer_free(t); }
};

char error[QKV_IO_ERROR];

void require(bool ok) {
    if (ok) return;
    std::fprintf(stderr, "from_cpp: %s\n", error);
    std::exit(1);
}

void set(qkv_config *config, const char *field, const char *value) {  // as `--field value` does
    require(qkv_config_set(config, qkv_config_option_find(config, field), value, error));
}

void report(const char *what, qkv_trainer *t) {
    qkv_trainer_scores s;
    require(qkv_trainer_evaluate(t, "valid", 0, 512, &s, error));
    std::printf("%-22s loss %.3f   accuracy %5.1f %%   attention on the answer %.2f\n", what,
                s.loss, 100 * s.accuracy, s.answer_attention);
}

// A hook: runs after the node's own forward, and may overwrite it. The rows are the questions': they come
// last and see all S places.
void look_everywhere(ag_node *weights, void *) {
    const int S = weights->val.shape.dim[3];  // [B,H,questions,S]
    for (std::size_t i = 0; i < weights->val.n; i++) weights->val.x[i] = real(1) / real(S);
}

}  // namespace

int main() {
    qkv_config config;
    data_spec task;
    qkv_config_default(&config);
    set(&config, "task", "pairs");
    set(&config, "steps", "300");
    require(qkv_config_resolve(&config, &task, error));
    std::unique_ptr<qkv_trainer, free_trainer> trainer(
        qkv_trainer_new(nullptr, &config, &task, 1, error));
    require(trainer != nullptr);

    report("before training", trainer.get());
    for (int step = 0; step < config.steps; step++) {
        qkv_trainer_step gradient;
        require(qkv_trainer_gradient(trainer.get(), step, &gradient, error));
        qkv_trainer_update(trainer.get(), step, &gradient);
    }
    report("after training", trainer.get());

    ag_node *weights =
        ag_find(qkv_trainer_training_worker(trainer.get())->graph, "layer0.attn.weights");
    require(weights && ag_hook(weights, look_everywhere, nullptr));
    report("looking everywhere", trainer.get());
    ag_unhook(weights, look_everywhere, nullptr);
    report("looking for itself", trainer.get());
}
