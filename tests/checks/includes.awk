# includes.awk - awk -f includes.awk FILE...: prints every #include that points up the list of rooms, or to
# what is internal to another room. Who may include what is written here and nowhere else.

BEGIN {
    # Who may include whom.
    may["tensor"] = "tensor"
    may["autograd"] = "tensor autograd"
    may["layers"] = "tensor autograd layers"
    may["data"] = "tensor data"
    below = "tensor autograd layers data"

    # The rooms of train/, lowest first: each may include those before it.
    n = split("io optim config trainer probe run plot study page cli", rooms, " ")
    for (i = 1; i <= n; i++) {
        known[rooms[i]] = 1
        below = below " " rooms[i]
        may[rooms[i]] = below
    }
    may["examples"] = may["study"]
    may["tests"] = may["cli"] " tests"

    # What a room shows to the rooms above it; all else is its own. Tests may look everywhere.
    shown["autograd"] = "ag.h op.h sample.h gradcheck.h ops.def"
    shown["layers"] = "nn.h layers.def"
    shown["data"] = "data.h option.h coref.h text.h utf8.h visible.h tasks.def"

    # Layers compose ops: an op's insides are not their business.
    hidden["layers"] = "autograd/op.h"
    for (i = 1; i <= n; i++) hidden[rooms[i]] = "autograd/op.h"

    # Of its own room: an op is read with its contract and the headers of plain loops alone, and nobody but
    # fast forms sees what they are made of.
    plain = "op.h attr.h unary.h broadcast.h reduce.h"

    # System headers which only the program may use.
    system_of_cli = "getopt.h err.h error.h"
}

function first(path) { return substr(path, 1, index(path, "/") - 1) }

# A room of train/ is called by its own name; a file that lies in none has none.
function room(path) { return path ~ /^train\// ? first(substr(path, 7)) : first(path) }
function has(list, word) { return index(" " list " ", " " word " ") > 0 }
function base(path) { return substr(path, index(path, "/") + 1) }
function wrong(why) { printf "%s:%d: \"%s\": %s\n", FILENAME, FNR, header, why }

FNR == 1 {
    here = room(FILENAME)
    if (FILENAME ~ /^train\// && !(here in known)) print FILENAME ": lies in no room of train/"
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    if (here != "cli" && here != "tests" && here != "examples" && has(system_of_cli, header))
        wrong("only train/cli/ may include this")
    if (here != "tests" && header == "assert.h" && FILENAME != "autograd/graph_internal.h")
        wrong("only tests, and debug builds of the engine, assert; the library reports errors")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*/, "", header)
    there = room(header)
    if (header == "qkv.h" && here == "examples") next
    if (!(there in may)) wrong("is to be written from the top of the tree: \"room/file.h\"")
    else if (!has(may[here], there)) wrong(here "/ may include only of " may[here])
    else if (FILENAME ~ /^autograd\/ops\// && there == "autograd" && !has(plain, base(header)))
        wrong("ops/ may include only " plain " of autograd/")
    else if (header ~ /^autograd\/fast\// && FILENAME !~ /^autograd\/fast\// && here != "tests")
        wrong("is internal to autograd/fast/")
    else if (here != there && here != "tests") {
        if (header ~ /_internal\.h$/ || (there in shown) && !has(shown[there], base(header)))
            wrong("is internal to " there "/")
        else if (has(hidden[here], header)) wrong("is for the authors of ops, not for " here "/")
    }
}
