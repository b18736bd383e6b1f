#!/bin/sh
# embed.sh FILE.gp... - writes to stdout the C source of scripts.h's tables, from common.gp and
# the other scripts named. A string literal a line keeps the result readable, and each literal
# shorter than any compiler's limit.
set -eu

lines() { # lines FILE: its lines as C strings
    sed -e 's/[\\"]/\\&/g' -e 's/.*/    "&\\n",/' "$1"
    echo '    0'
}

for f in "$@"; do test -r "$f" || { echo "embed.sh: cannot read $f" >&2; exit 1; }; done

echo '/* Written by train/plot/embed.sh; edit the .gp files instead. */'
echo '#include "train/plot/scripts.h"'
for f in "$@"; do
    name=$(basename "$f" .gp)
    case $name in
    common) echo && echo 'const char *const qkv_plot_common[] = {' ;;
    *) echo && echo "static const char *const script_$name[] = {" ;;
    esac
    lines "$f"
    echo '};'
done
echo
echo 'const struct qkv_plot_script qkv_plot_scripts[] = {'
for f in "$@"; do
    name=$(basename "$f" .gp)
    test "$name" = common || echo "    {\"$name\", script_$name},"
done
echo '    {0, 0}};'
