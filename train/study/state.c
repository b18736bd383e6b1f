/* state.c - "state.numbers": how many numbers the layers keep of a whole row, so as to go on with the next
 * token: keys and values of every position, or a state of fixed size. */
#include "train/study/probe.h"

bool qkv_study_probe_run_state(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *s = qkv_trainer_spec(t);
    const nn_model_config m = qkv_config_model(c, s);
    for (const nn_block_kind *b = nn_block_kinds; b->name; b++) {
        if (b->block != m.block) continue;
        qkv_probe_measure_add(out, c->layers * b->state(&m.attention, s->side[s->store].T),
                              "state.numbers");
        return true;
    }
    return qkv_io_fail(error, "what a plugin's block keeps is not known");
}
