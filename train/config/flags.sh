#!/bin/sh
# flags.sh FLAG... - writes these flags of the compiler as a C string, for config.json. What names a path is
# left out: it says where somebody built, not how, and would make two builds of the same differ.
set -eu
said='' skip=
for flag; do
    if [ -n "$skip" ]; then skip=; continue; fi
    case $flag in
        -I | -L | -B | -isystem | -iquote | -idirafter | -include | -imacros | --sysroot) skip=yes ;;
        -I* | -L* | -B* | -isystem* | -iquote* | -f*-prefix-map=* | -W* | -Wp,* | */*) ;;
        *) said="$said $flag" ;;
    esac
done
printf '"%s"' "$(printf '%s' "${said# }" | sed 's/[\\"]/\\&/g' | tr '\n' ' ')"
