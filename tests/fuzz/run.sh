#!/bin/sh
# run.sh DIR RUNS - runs the fuzzers DIR/fuzz_*: RUNS times that of tensor files, the others a tenth of it,
# from the corpus and what earlier runs in DIR found. Stops at the first broken promise: the input is then in
# DIR/broken-*.
dir=$1 runs=$2
export ASAN_OPTIONS="malloc_context_size=0:quarantine_size_mb=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
for target in safetensors config options corpus; do
    n=$runs quiet=1
    [ $target = safetensors ] || n=$((runs / 10))
    [ $target != options ] || quiet=3 # it would say what is wrong with each of them
    mkdir -p "$dir/found/$target"
    "$dir/fuzz_$target" -runs="$n" -max_len=1400 -dict=tests/fuzz/words -timeout=20 -rss_limit_mb=4000 \
        -close_fd_mask=$quiet -artifact_prefix="$dir/broken-$target-" \
        "$dir/found/$target" "tests/fuzz/corpus/$target" >"$dir/$target.log" 2>&1 || {
        tail -n 40 "$dir/$target.log"
        echo "fuzz_$target: a promise is broken, see $dir/broken-$target-*"
        exit 1
    }
    echo "fuzz_$target: $(sed -n 's/^Done //p' "$dir/$target.log"), nothing found"
done
