/* diff.h - qkv diff: two runs side by side. */
#ifndef QKV_CLI_DIFF_H
#define QKV_CLI_DIFF_H

#include "train/cli/sheet.h"
#include "train/probe/circuits.h"
#include "train/run/layout.h"

/* One of the two runs. */
typedef struct {
    const char *dir;
    char shown[QKV_IO_PATH];
    int first, last;
    uint32_t then;  // the checksum of its newest checkpoint
    qkv_trainer *t;
    qkv_run_layout_state none;
    qkv_run_layout l;
    qkv_probe_circuits c;
    qkv_trainer_step s;
} diff_side;

typedef struct {
    int every, examples;
    diff_side of[2];
    int first, last;
    bool circuits;
    int loss_step, step, tensor;  // the first loss and the first number that differ; -1: none
    double loss[2], number[2];
    size_t at;  // which number of that tensor
    cli_sheet sheet;
} diff_job;

/* Notes the first number that differs between the states after `step` steps, if none did before. */
void diff_look(diff_job *j, int step);

/* A row of the sheet: how far the states after `step` steps are apart. False with a sentence in error. */
bool diff_row(diff_job *j, int step, char *error);

#endif
