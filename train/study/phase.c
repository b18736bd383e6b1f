/* phase.c - where each head looks: "heads.SITE.HEAD.LOOK" once, "phase.SITE.HEAD.LOOK" at every evaluation of
 * fewer examples. The looks are those of heads.h. */
#include <math.h>

#include "train/probe/heads.h"
#include "train/study/probe.h"

/* "PROBE.SITE.HEAD.LOOK" for each look that there is. */
static bool add_looks(qkv_trainer *t, const char *probe, int examples, qkv_probe_measures *out,
                      char *error) {
    tensor_arena *arena = tensor_arena_new(NULL);
    qkv_probe_heads h = {0};
    bool ok = arena ? qkv_probe_heads_of(t, "test", examples, (qkv_probe_heads_parts){0}, arena, &h,
                                         error)
                    : qkv_io_fail(error, "out of memory");
    for (int k = 0; ok && k < h.n_sites; k++)
        for (int head = 0; head < h.heads; head++)
            for (int look = 0; look < QKV_PROBE_LOOKS; look++) {
                const double x = h.look[(k * h.heads + head) * QKV_PROBE_LOOKS + look];
                if (!isnan(x))
                    qkv_probe_measure_add(out, x, "%s.%s.%d.%s", probe, h.site[k].name, head,
                                          qkv_probe_look_names[look]);
            }
    tensor_arena_free(arena);
    return ok;
}

bool qkv_study_probe_run_heads(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    return add_looks(t, "heads", 128, out, error);
}

bool qkv_study_probe_run_phase(qkv_trainer *t, qkv_probe_measures *out, char *error) {
    return add_looks(t, "phase", 32, out, error);
}
