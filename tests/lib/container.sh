# container.sh - containers of a bare Debian, for bare.sh and packaging/dist_test.sh: sourced, not run. As
# root. Whatever apt is told here about proxies, certificates and dates it is told there, too.
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }')}

# able NAME TARGET TOOL...: can containers start here? Else it says why not, and ends. TARGET installs the
# tools.
able() {
    who=$1 target=$2 lacking=
    shift 2
    for tool in debootstrap chroot unshare mount "$@"; do
        command -v $tool >/dev/null 2>&1 || lacking="$lacking $tool"
    done
    [ -z "$lacking" ] || { echo "$who: not found:$lacking (make $target)"; exit 1; }
    [ "$(id -u)" = 0 ] || { echo "$who: a container is made by root; please run it as root"; exit 1; }
    [ -n "$MIRROR" ] || { echo "$who: which mirror? MIRROR=http://..."; exit 1; }
    unshare --mount --pid --fork true 2>/dev/null ||
        { echo "$who: unshare --mount --pid is not allowed here"; exit 1; }
}

# inside ROOT COMMAND [OPTION of unshare]: /dev, /proc and /sys are mounted for it alone, and gone when it
# ends, whichever way.
inside() {
    unshare --mount --pid --fork --kill-child ${3:-} sh -c '
        mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
            mount -t tmpfs tmpfs "$1/dev/shm" || exit 1
        exec chroot "$1" env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$2"' \
        inside "$1" "$2" </dev/null
}

# hand_on ROOT: what apt needs here to reach the mirror.
hand_on() {
    [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-)' | grep -v ' "";$' \
        >"$1/etc/apt/apt.conf.d/90here"
    for certificates in /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt; do
        [ -e $certificates ] || continue
        mkdir -p "$1${certificates%/*}" && cp -rL $certificates "$1${certificates%/*}" || return 1
    done
}

# container ROOT RELEASE PACKAGES: is there afterwards, with what `debootstrap --variant=minbase` puts there,
# and these packages. KEEP=1: as it is, if it is there.
container() {
    if [ "$KEEP" = 1 ] && [ -e "$1/ready" ]; then return 0; fi
    rm -rf --one-file-system "$1" && mkdir -p "$1" &&
        debootstrap --variant=minbase "$2" "$1" "$MIRROR" && hand_on "$1" &&
        inside "$1" "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $3" &&
        touch "$1/ready"
}
