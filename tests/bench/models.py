#!/usr/bin/env python3
"""How many of qkv's default runs a minute (600 steps), by qkv study on all processors and by PyTorch, a process each.

  models.py QKV [--seeds N] [--seconds S]

PyTorch trains the same model on the same kind of examples, drawn as it goes: one layer of attention, 32 wide, eight pairs
and a question, 64 sequences a step, fused Adam. It evaluates nothing; qkv does, 60 times a run, and writes its files.
"""
import argparse
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time


def torch_run(seed):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    batch, pairs, symbols, width = 64, 8, 32, 32

    def matrix(rows, columns, scale):
        return torch.nn.Parameter(scale * torch.randn(rows, columns))

    keys, values = matrix(symbols, width, 0.3), matrix(symbols, width, 0.3)
    wq, wk, wv = (matrix(width, width, width**-0.5) for _ in range(3))
    wo, unembed = matrix(width, width, width**-0.5), matrix(width, symbols, width**-0.5)
    adam = torch.optim.Adam([keys, values, wq, wk, wv, wo, unembed], lr=0.003, fused=True)
    for _ in range(600):
        k = torch.rand(batch, symbols).argsort(1)[:, :pairs]
        v = torch.randint(symbols, (batch, pairs))
        asked = torch.randint(pairs, (batch, 1))
        x = torch.cat([keys[k] + values[v], keys[k.gather(1, asked)]], 1)
        o = F.scaled_dot_product_attention(x @ wq, x @ wk, x @ wv, is_causal=True)
        loss = F.cross_entropy((x + o @ wo)[:, -1] @ unembed, v.gather(1, asked)[:, 0])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
    return loss.item()


def torch_runs(seconds):
    """Runs a minute of one process, its import not counted."""
    torch_run(0)
    began, n = time.perf_counter(), 0
    while time.perf_counter() < began + seconds:
        torch_run(n)
        n += 1
    return 60 * n / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qkv")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    a = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"models.py: {sys.executable} has no torch; run it with a python3 that has")
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as d:
        study = os.path.join(d, "many.json")
        with open(study, "w", encoding="ascii") as f:
            json.dump({"name": "many", "variants": [{"name": "pairs"}]}, f)
        began = time.perf_counter()
        subprocess.run([a.qkv, "study", study, "--seeds", str(a.seeds), "--out", os.path.join(d, "out"), "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        own = 60 * a.seeds / (time.perf_counter() - began)
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        peer = sum(pool.map(torch_runs, [a.seconds] * cores))
    print(f"on {cores} processors: qkv study {own:.0f} runs a minute, PyTorch {peer:.0f}, {own / peer:.1f} times as many")


if __name__ == "__main__":
    main()
