/* checkpoint.c - a run begun from what a program wrote: a configuration, a checkpoint; and one written. */
#include <string.h>

#include "train/page/engine_internal.h"
#include "train/run/checkpoint.h"

bool qkv_page_begin(qkv_page *p, const char *json) {
    qkv_config c;
    qkv_config_default(&c);
    return qkv_config_from_json(&c, json, strlen(json), p->error) &&
           qkv_page_take(p, qkv_page_run_new(p, &c));
}

/* Parameters, moments and numbers of a file into a run; another file's leave it as it was. */
static bool restore(qkv_page *p, qkv_page_run *r, const char *path) {
    char shown[200];
    qkv_run_progress at;
    if (qkv_run_checkpoint_read(NULL, NULL, path, &at, p->error) != QKV_IO_OK) return false;
    const int steps = qkv_trainer_config(r->t)->steps;
    if (at.step > steps)
        return qkv_io_fail(p->error, "'%s' is of step %d, the run has %d",
                           qkv_io_printable(path, shown, sizeof shown), at.step, steps);
    if (qkv_run_restore(NULL, r->t, &at, path, p->error) != QKV_IO_OK) return false;
    r->progress = (qkv_run_layout_state){at.step, at.best_step, at.best_loss};
    return qkv_page_at_step(p, r, at.step);
}

bool qkv_page_restore(qkv_page *p, const char *path) {
    if (!p->run) return qkv_io_fail(p->error, "there is no run");
    return restore(p, p->run, path);
}

/* The whole file before its configuration: that is read from the header, which a checksum covers. */
bool qkv_page_open_checkpoint(qkv_page *p, const char *path) {
    qkv_config c;
    if (qkv_run_checkpoint_check(NULL, NULL, path, p->error) != QKV_IO_OK ||
        qkv_run_checkpoint_config(NULL, NULL, path, NULL, &c, p->error) != QKV_IO_OK)
        return false;
    qkv_page_run *r = qkv_page_run_new(p, &c);
    if (r && restore(p, r, path)) return qkv_page_take(p, r);
    qkv_page_run_free(r);
    return false;
}

void *qkv_page_save(qkv_page *p, size_t *size) {
    const qkv_page_run *r = p->run;
    void *file;
    if (!r) return qkv_io_fail(p->error, "there is no run"), NULL;
    const qkv_run_progress at = {r->step, (int)r->progress.best_step, r->progress.best_loss};
    return qkv_run_compose(r->t, &at, "the checkpoint", &file, size, p->error) ? file : NULL;
}
