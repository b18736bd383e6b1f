#!/bin/sh
# commit.sh - prints the commit that is built and its time in seconds since 1970: what git says here, with a +
# behind the commit if files differ from it; in a tree without git what `git archive` has written below; else
# "unknown 0".
cd "$(dirname "$0")/.." || exit 1
said='$Format:%H %ct$'
case $said in
    ?Format*)
        said='unknown 0'
        if [ -e .git ] && now=$(git log -1 --format='%H %ct' 2>/dev/null); then
            said=$now
            git diff --quiet HEAD 2>/dev/null || said="${now% *}+ ${now#* }"
        fi
        ;;
esac
echo "$said" | sed 's/^\([0-9a-f]\{12\}\)[0-9a-f]*/\1/'
