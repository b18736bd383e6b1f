#!/bin/sh
# test_page_parts.sh - what of the page needs no browser (page_parts.js), where there is node. SEED: another
# one for the addresses. Reports in cmocka's words, for run.sh. Run from the root of the tree.
here=$(dirname "$0")
. "$here/../lib/suite.sh" || exit 1

in_node() { needs node; }

command -v node >/dev/null 2>&1 || { suite in_node; exit; }
exec node "$here/page_parts.js" "$here/../../train/page" "${SEED:-1}"
