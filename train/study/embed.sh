#!/bin/sh
# embed.sh FILE.json... - writes to stdout the C source of study.h's qkv_study_files, one string literal a
# line; kv_budget.json is the study kv-budget.
set -eu
for f in "$@"; do test -r "$f" || { echo "embed.sh: cannot read $f" >&2; exit 1; }; done
echo '/* Written by train/study/embed.sh; edit the .json files instead. */'
echo '#include "train/study/study.h"'
for f in "$@"; do
    echo
    echo "static const char *const study_$(basename "$f" .json | tr - _)[] = {"
    sed -e 's/[\\"]/\\&/g' -e 's/.*/    "&\\n",/' "$f"
    echo '    0};'
done
echo
echo 'const qkv_study_file qkv_study_files[] = {'
for f in "$@"; do
    name=$(basename "$f" .json | tr _ -)
    echo "    {\"$name\", study_$(echo "$name" | tr - _)},"
done
echo '    {0, 0}};'
