/* bench_plain.c - qkv bench --ops --plain: what each fast form gains over the plain loops of its op, and all
 * of them over a step by plain loops. */
#include <stdio.h>

#include "train/cli/bench.h"
#include "train/cli/cli.h"
#include "train/cli/json.h"

enum { FAST, PLAIN, FORMS };

static void print_op(const char *name, const bench_cost c[FORMS], bool json) {
    if (json)
        cli_print_json(json_pack("{s:s,s:o,s:o,s:o,s:o}", "op", name, "forward_us",
                                 cli_json_number(1e6 * c[FAST].forward), "plain_forward_us",
                                 cli_json_number(1e6 * c[PLAIN].forward), "backward_us",
                                 cli_json_number(1e6 * c[FAST].backward), "plain_backward_us",
                                 cli_json_number(1e6 * c[PLAIN].backward)));
    else
        cli_print("%-16s %10.1f %9.1f %6.1f %11.1f %9.1f %6.1f\n", name, 1e6 * c[FAST].forward,
                  1e6 * c[PLAIN].forward, c[PLAIN].forward / c[FAST].forward,
                  1e6 * c[FAST].backward, 1e6 * c[PLAIN].backward,
                  c[PLAIN].backward / c[FAST].backward);
}

static double step_seconds(qkv_trainer *t, double seconds, char *error) {
    double began = 0;
    for (int step = -2;; step++) {  // two to warm up
        qkv_trainer_step s;
        if (step == 0) began = qkv_io_seconds();
        if (!qkv_trainer_gradient(t, step + 2, &s, error)) return -1;
        qkv_trainer_update(t, step + 2, &s);
        const double spent = qkv_io_seconds() - began;
        if (step >= 2 && spent > seconds) return spent / (step + 1);
    }
}

static bool has_fast_forms(void) {
    bool some = false;
    for (int i = 0; ag_ops[i]; i++) some = some || ag_has_fast(ag_ops[i]);
    return some;
}

int bench_plain(qkv_trainer *t, double seconds, bool json) {
    char error[QKV_IO_ERROR] = "out of memory";
    if (!has_fast_forms())
        return cli_error(CLI_FAILED, "bench", "this program has plain loops alone (make PLAIN=1)");
    const qkv_config *c = qkv_trainer_config(t);
    const data_spec *spec = qkv_trainer_spec(t);
    const ag_sizes z = {qkv_trainer_any_worker(t)->B, spec->side[DATA_SEQUENCE].T, c->d_model,
                        c->heads, spec->readout[0].classes};
    const double fast = step_seconds(t, seconds / 4, error);
    const bool again = fast > 0 && qkv_trainer_plain(t, error);
    const double plain = again ? step_seconds(t, seconds / 4, error) : -1;
    if (plain < 0) return cli_error(CLI_FAILED, "bench", "%s", error);
    if (!json)
        cli_print(
            "a step: %.1f us; by plain loops %.1f us, %.1f times as much\n\n%-16s %10s %9s %6s "
            "%11s %9s %6s\n",
            1e6 * fast, 1e6 * plain, plain / fast, "op", "forward us", "plain", "times",
            "backward us", "plain", "times");
    for (int i = 0; ag_ops[i]; i++) {
        bench_cost each[FORMS];
        if (!ag_has_fast(ag_ops[i])) continue;
        for (int form = FAST; form < FORMS; form++)
            if (!bench_alone(ag_ops[i], &z, form == PLAIN, seconds / 80, &each[form], error))
                return cli_error(CLI_FAILED, "bench", "%s", error);
        print_op(ag_ops[i]->name, each, json);
    }
    if (json)
        cli_print_json(json_pack("{s:o,s:o}", "step_us", cli_json_number(1e6 * fast),
                                 "plain_step_us", cli_json_number(1e6 * plain)));
    return CLI_OK;
}
