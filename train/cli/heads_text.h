/* heads_text.h - what qkv heads found, as tables and as JSON. */
#pragma once

#include <jansson.h>

#include "train/probe/head_circuits.h"
#include "train/probe/heads.h"

/* "induction, answer": what a head does; returns out. */
char *cli_heads_jobs(const qkv_probe_heads *h, int site, int head, char *out, size_t size);

void cli_heads_print(const qkv_trainer *t, const qkv_probe_heads *h,
                     const qkv_probe_head_circuits *c);
json_t *cli_heads_json(const qkv_trainer *t, const qkv_probe_heads *h,
                       const qkv_probe_head_circuits *c);
