/* contextual.h - the stream that enters the last of several layers, with and without what the
 * earlier layers wrote: for layers.c and ov_probe.c. */
#ifndef TRAIN_PROBE_CONTEXTUAL_H
#define TRAIN_PROBE_CONTEXTUAL_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRAIN_WHOLE,      // as it is
    TRAIN_EMBEDDING,  // the embedding alone
    TRAIN_WRITTEN     // what the earlier layers added to it
} train_stream;

/* Replays the worker with the stream changed so. Its nodes then hold what follows from that. */
bool train_entering(train_trainer *t, train_worker *w, train_stream stream);

/* Does the model have two layers of attention within the sequence? Else false with a sentence. */
bool train_has_contexts(train_trainer *t, char *error);

/* Where key and value of an entry stand whose answer is at `source`. False: the task has no
 * positions of their own for them. */
bool train_places(const data_spec *s, int source, int *key, int *value);

#ifdef __cplusplus
}
#endif
#endif
