/* contextual.h - the stream that enters the last of several layers, with and without what the
 * earlier layers wrote: for layers.c and ov_probe.c. */
#ifndef QKV_PROBE_CONTEXTUAL_H
#define QKV_PROBE_CONTEXTUAL_H

#include "train/trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    QKV_PROBE_WHOLE,      // as it is
    QKV_PROBE_EMBEDDING,  // the embedding alone
    QKV_PROBE_WRITTEN     // what the earlier layers added to it
} qkv_probe_stream;

/* Replays the worker with the stream changed so. Its nodes then hold what follows from that. */
bool qkv_probe_entering(qkv_trainer *t, qkv_trainer_worker *w, qkv_probe_stream stream);

/* Does the model have two layers of attention within the sequence? Else false with a sentence. */
bool qkv_probe_has_contexts(qkv_trainer *t, char *error);

/* Where key and value of an entry stand whose answer is at `source`. False: the task has no
 * positions of their own for them. */
bool qkv_probe_places(const data_spec *s, int source, int *key, int *value);

#ifdef __cplusplus
}
#endif
#endif
