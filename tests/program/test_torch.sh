#!/bin/sh
# test_torch.sh - checkpoints and PyTorch: examples/pytorch.py, and files that the reference writer of
# safetensors made. QKV is the program's path. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

needs_torch() {
    python3 -c 'import torch, numpy, safetensors.torch' 2>/dev/null && return
    echo '    cannot run: no python3 with torch, numpy and safetensors' >&2
    false
}
train() {
    where=$1 steps=$2
    shift 2
    "$QKV" train --out "$where" --steps "$steps" --quiet --threads 1 "$@"
}
the_module_gives_the_same_logits() {
    needs_torch || return $SKIP
    train plain 300 && python3 "$root/examples/pytorch.py" plain || return 1
    train wide 200 --layers 2 --heads 4 --d-ff 64 --norm layer --bias --positions learned &&
        python3 "$root/examples/pytorch.py" wide written.safetensors || return 1
    # and begins a training
    "$QKV" train --from written.safetensors --out on --steps 20 --layers 2 --heads 4 --d-ff 64 --norm \
        layer --bias \
        --positions learned --quiet && grep -q '"from": "written.safetensors"' on/config.json &&
        grep -q '"moments": false' on/config.json &&
        "$QKV" train --config on/config.json --out again --quiet &&
        cmp on/step-00000020.safetensors again/step-00000020.safetensors
}

# The same tensors and metadata, written by safetensors: the checksum in them is that of another file.
a_checkpoint_written_anew_is_read() {
    needs_torch || return $SKIP
    train run 40 --save-every 20 && cp -r run anew && python3 - <<'END' || return 1
from safetensors import safe_open
from safetensors.torch import save_file
import glob
for path in glob.glob("anew/*.safetensors"):
    with safe_open(path, "pt") as f:
        tensors, notes = {k: f.get_tensor(k) for k in f.keys()}, f.metadata()
    if "best" in path:
        del notes["crc32"]
    save_file(tensors, path, notes)
END
    "$QKV" eval run --json | sed 's/"run":"[a-z]*"//' >one && "$QKV" eval anew --json 2>err |
        sed 's/"run":"[a-z]*"//' | cmp - one &&
        grep -q 'no checksum of ours' err && "$QKV" train --out run --resume --steps 60 --quiet &&
        "$QKV" train --out anew --resume --steps 60 --quiet 2>err && grep -q 'no checksum of ours' err &&
        cmp run/step-00000060.safetensors anew/step-00000060.safetensors
}

what_does_not_fit_is_named() {
    needs_torch || return $SKIP
    train odd 5 && python3 - <<'END' || return 1
from safetensors import safe_open
from safetensors.torch import save_file
import torch
with safe_open("odd/step-00000005.safetensors", "pt") as f:
    w = {k: f.get_tensor(k) for k in f.keys() if not k.startswith(("optimizer.", "state."))}
for kind in torch.float64, torch.float16, torch.bfloat16:
    save_file({k: x.to(kind) for k, x in w.items()}, str(kind) + ".safetensors")
wrong = dict(w)
del wrong["layer0.attn.wq"]
wrong["layer0.attn.wx"] = w["layer0.attn.wk"].clone()
wrong["layer0.attn.wv"] = torch.zeros(3, 4)
wrong["layer0.attn.wo"] = torch.zeros(32, 32, dtype=torch.int32)
save_file(wrong, "wrong.safetensors")
nan = dict(w)
nan["layer0.attn.wv"] = torch.full_like(w["layer0.attn.wv"], float("nan"))
save_file(nan, "nan.safetensors")
END
    refused 3 "it lacks 'layer0.attn.wq'" eval odd --weights wrong.safetensors &&
        grep -qF "it also has 'layer0.attn.wx'" err &&
            grep -qF "'layer0.attn.wv' is [3,4], not [32,32]" err &&
        grep -qF "'layer0.attn.wo' is I32" err &&
        refused 3 "it lacks" train --from wrong.safetensors --out never --steps 5 && [ ! -e never ] &&
        refused 4 "layer0.attn.wv" eval odd --weights nan.safetensors &&
        refused 1 "nowhere" eval odd --weights nowhere.safetensors || return 1
    loss() { "$QKV" eval odd --json "$@" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
    [ "$(loss)" = "$(loss --weights torch.float64.safetensors)" ] || return 1
    for kind in float16 bfloat16; do
        awk -v a="$(loss --weights torch.$kind.safetensors)" -v b="$(loss)" \
            'BEGIN { d = a / b - 1; exit !(d < 0.01 && d > -0.01) }' ||
            say "$kind gives another loss"
    done
}

leaving_a_line_out_is_a_weight_of_zero() {
    python3 -c 'import torch, numpy' 2>/dev/null || { cannot 'no python3 with torch and numpy'; return; }
    mkdir leave && cd leave && python3 "$root/tests/referee/leave_out.py" "$QKV"
}

suite leaving_a_line_out_is_a_weight_of_zero the_module_gives_the_same_logits \
    a_checkpoint_written_anew_is_read what_does_not_fit_is_named
