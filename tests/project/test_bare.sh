#!/bin/sh
# test_bare.sh - bare.sh tries the commands of README in containers; what it could not try it does not let
# pass. By stand-ins: no container is made. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

stand_in() { printf '#!/bin/sh\n%s\n' "$2" >bin/"$1" && chmod +x bin/"$1"; }

# A system on which containers start, and where whatever is run in them succeeds and leaves nothing.
system() {
    rm -rf bin at && mkdir bin || return 1
    for tool in debootstrap unshare chroot mount git apt-get apt-config; do stand_in $tool 'exit 0'; done
    stand_in id 'echo 0'
    stand_in git 'for to; do :; done; mkdir -p "$to"'
    # What debootstrap leaves: etc/apt/apt.conf.d and root.
    stand_in debootstrap "mkdir -p \"\$3/etc/apt/apt.conf.d\" \"\$3/root\"; echo \"\$@\" >>'$dir/log'"
    : >log
}
# bare TEXT VARIABLE=VALUE...: it fails, and says that.
bare() {
    text=$1 status=0
    shift
    env PATH="$dir/bin:$PATH" RELEASES=one COMMANDS=demo MIRROR=http://mirror AT="$dir/at" "$@" \
        sh "$root/tests/project/bare.sh" >out 2>&1 || status=$?
    [ "$status" -eq 1 ] || { say "exit $status: $(cat out)"; return 1; }
    grep -qF -e "$text" out || say "'$(cat out)' does not say '$text'"
}

what_is_missing_is_named() {
    system && stand_in debootstrap 'echo no such mirror; exit 1' || return 1
    bare 'no such mirror' && grep -q 'FAILED  one: the container did not start' out &&
        grep -qx '0 commands tried, 1 wrong' out || return 1
    system && stand_in unshare '[ $# -eq 4 ]' && bare 'the container did not start' || return 1
    system && stand_in unshare 'exit 1' && bare 'unshare --mount --pid is not allowed' || return 1
    system && stand_in id 'echo 1000' && bare 'run it as root' || return 1
    system && bare 'which mirror?' MIRROR= || return 1
    system && bare "'lunch' is not" COMMANDS='demo lunch' && [ ! -s log ] || return 1
    rm bin/* && for tool in sh sed awk grep dirname id; do ln -s "$(command -v $tool)" bin/$tool; done
    bare 'not found: debootstrap' PATH="$dir/bin" && grep -q 'make deps-bare' out
}

nothing_tried_is_no_pass() {
    system && bare '0 commands tried' COMMANDS=' ' && bare '0 commands tried' RELEASES=' '
}

a_command_has_to_leave_something() {
    system && bare 'no loss.png' && grep -q '^FAILED .* one: make deps demo' out || return 1
    for name in page check test; do
        system && bare '1 commands tried, 1 wrong' COMMANDS=$name || return 1
    done
}

suite what_is_missing_is_named nothing_tried_is_no_pass a_command_has_to_leave_something
