/* check.c - the gradient check in a program of one's own, of the plugin it is linked with.
 *
 *     cc check.c square.c $(pkg-config --cflags --libs qkv-double) -o check && ./check
 *
 * Finite differences need doubles, hence qkv-double: the same library with another `real`. */
#include <stdio.h>

#include "autograd/gradcheck.h"
#include "train/config/plugin.h"

extern const qkv_config_plugin qkv_plugin;  // square.c defines it

static int wrong;

static void check(const char *name, ag_sample_fn *sample, bool has_kinks) {
    ag_check_report r = {.reason = "there are no samples"};
    if (sample && ag_gradcheck(sample, has_kinks, &r)) {
        printf("%-16s ok: %d samples, %ld coordinates, worst error %.1e of what is allowed\n", name,
               r.samples, r.coordinates, r.worst);
    } else {
        printf("%-16s WRONG: %s\n", name, r.reason);
        wrong++;
    }
}

int main(void) {
    for (const ag_op *const *o = qkv_plugin.ops; o && *o; o++)
        check((*o)->name, (*o)->sample, (*o)->facts & AG_KINKS);
    for (const nn_layer *l = qkv_plugin.layers; l && l->name; l++) check(l->name, l->sample, false);
    for (const qkv_config_plugin_block *b = qkv_plugin.blocks; b && b->name; b++)
        check(b->name, b->sample, false);
    return wrong ? 5 : 0;
}
