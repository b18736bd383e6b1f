# symbols.awk - nm OBJECT... | awk -f symbols.awk: prints every symbol which the library must not have.
#
# The library is a guest in somebody else's process: it does not print, exit, or touch what belongs to the
# process, has no global that can be written to, and takes no names but those with the prefix of the room in
# which they stand: tensor_, gemm_, rng_, ag_, nn_, data_, and qkv_ROOM_ for train/ROOM/.

BEGIN {
    prefix["tensor"] = "^(tensor|gemm|rng)_"
    prefix["autograd"] = "^ag_"
    prefix["layers"] = "^nn_"
    prefix["data"] = "^data_"

    forbid("prints", "stdin stdout stderr printf vprintf dprintf vdprintf puts putchar putchar_unlocked " \
           "perror psignal psiginfo err errx verr verrx warn warnx vwarn vwarnx error syslog vsyslog")
    forbid("ends the program", "exit _exit _Exit quick_exit abort raise kill __assert __assert_fail " \
           "__assert_perror_fail")
    forbid("reads the environment", "getenv secure_getenv environ __environ")
    forbid("changes what belongs to the process", "setenv putenv unsetenv clearenv setlocale uselocale " \
           "signal sigaction sigprocmask pthread_sigmask alarm setitimer chdir fchdir umask atexit on_exit")
    forbid("starts a program through a shell, or copies this one", "system popen fork vfork")
    forbid("keeps state of its own", "rand srand random srandom drand48 lrand48 mrand48 srand48 strtok " \
           "localtime gmtime ctime asctime getopt getopt_long")

    # What is allowed all the same, and why.
    allowed["gnuplot.o getenv"] = 1   # PATH, to find gnuplot
    allowed["gnuplot.o environ"] = 1  # handed on to gnuplot, as it is
}

function forbid(why, names,   n, i, name) {
    n = split(names, name, " ")
    for (i = 1; i <= n; i++) forbidden[name[i]] = why
}

function wrong(why) { printf "%s: %s: %s\n", object, symbol, why }

# The prefix of what an object file of that path exports.
function prefix_of(path,   part, n, i) {
    n = split(path, part, "/")
    for (i = n - 1; i > 0; i--) if (part[i] in prefix) return prefix[part[i]]
    for (i = n - 2; i > 0; i--) if (part[i] == "train") return "^qkv_" part[i + 1] "(_|$)"
    if (part[n] == "plot_scripts.o") return "^qkv_plot_"
    if (part[n] == "studies.o") return "^qkv_study_"
    return "^$"
}

/^[^ ]+\.o:$/ {
    path = substr($1, 1, length($1) - 1)
    object = path
    sub(/.*\//, "", object)
    allowed_prefix = prefix_of(path)
    next
}
NF < 2 { next }
{ type = $(NF - 1); symbol = $NF; symbols++ }

type == "U" && (symbol in forbidden) && !((object " " symbol) in allowed) { wrong(forbidden[symbol]) }
type ~ /^[BbDdCGgSsuVv]$/ { wrong("a global that can be written to") }
type ~ /^[A-TV-Z]$/ && symbol !~ allowed_prefix {
    wrong("exported without the prefix of its room, " allowed_prefix)
}

END { if (!object || !symbols) print "nm shows no symbols" }
