/* probe.c - the catalogue of probes. */
#include "train/study/probe.h"

#include <string.h>

const qkv_study_probe qkv_study_probe_table[] = {
#define QKV_STUDY_PROBE(name, when, finds) \
    {#name, finds, QKV_STUDY_##when, qkv_study_probe_run_##name},
#include "train/study/probes.def"
#undef QKV_STUDY_PROBE
    {NULL, NULL, QKV_STUDY_BEFORE, NULL}};

const qkv_study_probe *qkv_study_probe_find(const char *name) {
    for (const qkv_study_probe *p = qkv_study_probe_table; name && p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}
