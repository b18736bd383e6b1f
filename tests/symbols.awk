# symbols.awk - nm LIBRARY | awk -f symbols.awk: prints every symbol which the library must not have.
#
# The library is a guest in somebody else's process: it does not print, exit, or touch what belongs to the
# process, has no global that can be written to, and takes no names but those with its rooms' prefixes.

BEGIN {
    prefix = "^(tensor|gemm|rng|ag|nn|data|train)_"

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

/^[^ ]+\.o:$/ { object = substr($1, 1, length($1) - 1); next }
NF < 2 { next }
{ type = $(NF - 1); symbol = $NF; symbols++ }

type == "U" && (symbol in forbidden) && !((object " " symbol) in allowed) { wrong(forbidden[symbol]) }
type ~ /^[BbDdCGgSsuVv]$/ { wrong("a global that can be written to") }
type ~ /^[A-TV-Z]$/ && symbol !~ prefix { wrong("exported without a room's prefix") }

END { if (!object || !symbols) print "nm shows no symbols" }
