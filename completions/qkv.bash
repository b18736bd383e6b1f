# qkv.bash - completes qkv's commands, options, their choices, and names, in bash 4 or later.
#
#   . completions/qkv.bash          or install it as share/bash-completion/completions/qkv
#
# Nothing is listed here: the program is asked. A command's help names its options and operands
# ("--mask task|causal|full|memory", "usage: qkv eval RUN [options]"), `qkv list` and
# `qkv study list` the rest.

# The first word of each line that the program prints for these arguments.
_qkv_names() { "$program" "$@" 2>/dev/null </dev/null | sed -n 's/^\([a-z0-9_-]\{1,\}\).*/\1/p'; }

# What `list`, a text of one word a line, offers for the current word.
_qkv_words() {
    local word
    while IFS= read -r word; do
        if [[ -n $word && $word == "$cur"* ]]; then COMPREPLY+=("$prefix$word"); fi
    done <<<"$1"
}

# Files or directories: _qkv_files -d, or -f '*.json'.
_qkv_files() {
    local path pattern=${2:-*}
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        if [[ -d $path || $path == $pattern ]]; then COMPREPLY+=("$prefix$path"); fi
    done < <(compgen "$1" -- "$cur")
}

# Directories that are runs, and those on the way to one; any directory if there is none.
_qkv_runs() {
    local path found
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        for found in "$path"/config.json "$path"/*/config.json "$path"/*/*/config.json; do
            if [[ -e $found ]]; then
                COMPREPLY+=("$prefix$path")
                break
            fi
        done
    done < <(compgen -d -- "$cur")
    if ((${#COMPREPLY[@]} == 0)); then _qkv_files -d; fi
}

# One name out of a help text: a choice, or what kind of thing is meant.
_qkv_kind() {
    case $1 in
        RUN) _qkv_runs ;;
        TASK) _qkv_words "$(_qkv_names list tasks)" ;;
        DIR) _qkv_files -d ;;
        FILE) _qkv_files -f ;;
        FILE.json) _qkv_files -f '*.json' ;;
        NAME)
            case $command$before in
                *--task) _qkv_words "$(_qkv_names list tasks)" ;;
                *--only) _qkv_words "$(_qkv_names list plots)" ;;
                *--block) _qkv_words transformer ;;
                study*) _qkv_words "$(_qkv_names study list)" ;;
                probe*) _qkv_words "$(_qkv_names list probes)" ;;
                gradcheck*) _qkv_words "$(_qkv_names list ops; _qkv_names list layers)" ;;
            esac
            ;;
        *[A-Z]*) ;; # a number, or a name of one's own
        *) _qkv_words "$1" ;;
    esac
}

# How many operands stand between the command and the current word.
_qkv_typed() {
    local i n=0 word seen=''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -* ]]; then
            if [[ ${COMP_WORDS[i + 1]} == = ]]; then
                i=$((i + 2))
            elif [[ -n $(sed -n "s/^  $word \([^ ]\{1,\}\).*/\1/p" <<<"$help") ]]; then
                i=$((i + 1))
            fi
        elif [[ -z $seen ]]; then
            seen=$word # the command
        else
            n=$((n + 1))
        fi
    done
    echo $n
}

_qkv() {
    local program=${1/#\~/$HOME} cur=${COMP_WORDS[COMP_CWORD]}
    local before='' command='' prefix='' kind='' help i value about=() operands=()
    COMPREPLY=()
    if ((COMP_CWORD > 0)); then before=${COMP_WORDS[COMP_CWORD - 1]}; fi
    if [[ $cur == = ]]; then # --mask=: "=" is a word of its own
        cur=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $cur == --*=* ]]; then # unless COMP_WORDBREAKS says otherwise
        before=${cur%%=*} prefix=$before= cur=${cur#*=}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
    done
    if [[ -z $command ]]; then
        _qkv_words "$("$program" --help 2>/dev/null | sed -n 's/^  qkv \([a-z]*\) .*/\1/p')"
        _qkv_words $'--help\n--version'
        return
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do # which options there are depends on the task
        case ${COMP_WORDS[i]} in
            --task=* | --plugin=*) about+=("${COMP_WORDS[i]}") ;; # unless COMP_WORDBREAKS says otherwise
            --task | --plugin)
                if [[ ${COMP_WORDS[i + 1]} == = ]]; then value=${COMP_WORDS[i + 2]}; else value=${COMP_WORDS[i + 1]}; fi
                ((i + 1 == COMP_CWORD)) || about+=("${COMP_WORDS[i]}=$value")
                ;;
            [a-z]*) if [[ $command == data ]]; then about+=("${COMP_WORDS[i]}"); fi ;;
        esac
    done
    help=$("$program" "$command" "${about[@]}" --help 2>/dev/null </dev/null) ||
        help=$("$program" "$command" --help 2>/dev/null </dev/null) || return 0
    # A sweep takes every option of a training, too.
    [[ $command != sweep ]] || help+=$'\n'$("$program" train "${about[@]}" --help 2>/dev/null </dev/null)
    case $before in
        --*) kind=$(sed -n "s/^  $before \([^ ]\{1,\}\).*/\1/p" <<<"$help") ;;
    esac
    if [[ -z $kind && $cur == -* ]]; then
        _qkv_words "$(sed 's/^  --\[no-\]\([a-z0-9-]*\).*/  --\1\n  --no-\1/' <<<"$help" |
            sed -n 's/^  \(--[a-z0-9-]\{1,\}\).*/\1/p'; echo --help)"
        return
    fi
    if [[ -z $kind ]]; then
        kind=$(sed -n '1s/^usage: qkv [a-z]*//p' <<<"$help")
        read -ra operands <<<"$(sed 's/\[options\]//; s/[][]//g; s/\.\.\.//g' <<<"$kind")"
        i=$(_qkv_typed)
        if ((i >= ${#operands[@]} && i > 0)); then i=$((${#operands[@]} - 1)); fi
        kind=${operands[i < 0 ? 0 : i]}
        before=''
    fi
    while IFS= read -r i; do
        _qkv_kind "$i"
    done <<<"${kind//|/$'\n'}"
}

complete -F _qkv qkv
