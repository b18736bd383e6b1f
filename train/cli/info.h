/* info.h - what the files of qkv info share. */
#pragma once

#include "train/probe/account.h"
#include "train/run/checkpoint.h"

typedef struct {
    const char *run;
    qkv_trainer *t;
    bool trained;  // false: there is no checkpoint; these are the initial weights
    qkv_run_progress progress;
    qkv_probe_account account;
} info;

/* Would the run be another one if this option were left at its default? */
bool info_differs(const qkv_config *c, const data_option *o);

/* Is this parameter one that weight decay shrinks, if it is on? */
bool info_decays(const ag_param_entry *p);

void info_print_account(const info *i);
void info_print_json(const info *i);
