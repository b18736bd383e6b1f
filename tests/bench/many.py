#!/usr/bin/env python3
"""How many of qkv's default runs (600 steps) a minute: by qkv study, by a PyTorch loop, by JAX; in turn, on all processors.

  many.py QKV [--torch PYTHON] [--jax PYTHON] [--rounds R] [--runs N] [--seeds N...]

Every contestant trains the same model on the same kind of examples, drawn as it goes: one layer of attention, 32 wide,
eight pairs and a question, 64 sequences a step, Adam. All compute the question's row alone. qkv evaluates 60 times a run
and writes its files; the others evaluate nothing. PyTorch: a process for each processor, fused Adam. JAX: vmap over
seeds, scan over steps, one jit; the best of several numbers of seeds at once. Imports and compilation are not counted.

A peer takes part if its Python (python3 unless given) can import it. Each line has the best of the rounds, by wall clock
and for a minute of one processor's time: the second hardly moves while a neighbour computes.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import race

BATCH, PAIRS, SYMBOLS, WIDTH, STEPS, RATE = 64, 8, 32, 32, 600, 0.003


def torch_runs(runs):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(1)

    def matrix(rows, columns, scale):
        return torch.nn.Parameter(scale * torch.randn(rows, columns))

    def run(seed, steps=STEPS):
        torch.manual_seed(seed)
        keys, values = matrix(SYMBOLS, WIDTH, 0.3), matrix(SYMBOLS, WIDTH, 0.3)
        wq, wk, wv, wo = (matrix(WIDTH, WIDTH, WIDTH**-0.5) for _ in range(4))
        unembed = matrix(WIDTH, SYMBOLS, WIDTH**-0.5)
        adam = torch.optim.Adam([keys, values, wq, wk, wv, wo, unembed], lr=RATE, fused=True)
        for _ in range(steps):
            k = torch.rand(BATCH, SYMBOLS).argsort(1)[:, :PAIRS]
            v = torch.randint(SYMBOLS, (BATCH, PAIRS))
            asked = torch.randint(PAIRS, (BATCH, 1))
            question = keys[k.gather(1, asked)]
            x = torch.cat([keys[k] + values[v], question], 1)
            o = F.scaled_dot_product_attention(question @ wq, x @ wk, x @ wv)
            loss = F.cross_entropy((question + o @ wo)[:, 0] @ unembed, v.gather(1, asked)[:, 0])
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
        return loss.item()

    run(0, 20)
    yield torch.__version__
    yield [run(seed) for seed in range(runs)]


def jax_runs(seeds):
    import jax
    from jax import numpy as np

    def model(key):
        sizes = {"key": SYMBOLS, "value": SYMBOLS, "q": WIDTH, "k": WIDTH, "v": WIDTH, "o": WIDTH, "unembed": WIDTH}
        parts = jax.random.split(key, len(sizes))
        return {name: (0.3 if rows == SYMBOLS and name in ("key", "value") else WIDTH**-0.5)
                * jax.random.normal(part, (rows, SYMBOLS if name == "unembed" else WIDTH))
                for (name, rows), part in zip(sizes.items(), parts)}

    def loss(p, key):
        a, b, c = jax.random.split(key, 3)
        k = np.argsort(jax.random.uniform(a, (BATCH, SYMBOLS)), axis=1)[:, :PAIRS]
        v = jax.random.randint(b, (BATCH, PAIRS), 0, SYMBOLS)
        asked = jax.random.randint(c, (BATCH, 1), 0, PAIRS)
        question = p["key"][np.take_along_axis(k, asked, 1)]
        x = np.concatenate([p["key"][k] + p["value"][v], question], 1)
        scores = np.einsum("bte,bse->bts", question @ p["q"], x @ p["k"]) / WIDTH**0.5
        o = np.einsum("bts,bse->bte", jax.nn.softmax(scores), x @ p["v"]) @ p["o"]
        logs = jax.nn.log_softmax((question + o)[:, 0] @ p["unembed"])
        return -np.take_along_axis(logs, np.take_along_axis(v, asked, 1), 1).mean()

    def run(seed):
        key = jax.random.key(seed)

        def step(state, i):
            p, mean, square = state
            value, grad = jax.value_and_grad(loss)(p, jax.random.fold_in(key, i))
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grad)
            square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grad)
            fix1, fix2 = 1 - 0.9 ** (i + 1), 1 - 0.999 ** (i + 1)
            p = jax.tree.map(lambda w, m, s: w - RATE * (m / fix1) / (np.sqrt(s / fix2) + 1e-8), p, mean, square)
            return (p, mean, square), value

        p = model(key)
        zeros = jax.tree.map(np.zeros_like, p)
        return jax.lax.scan(step, (p, zeros, zeros), np.arange(STEPS))[1][-1]

    train = jax.jit(jax.vmap(run))
    train(np.arange(seeds)).block_until_ready()
    yield jax.__version__
    yield [float(x) for x in train(1000 + np.arange(seeds))]


def peer(name, runs):
    """In a process of its own: trains, and prints a line of JSON."""
    work = (torch_runs if name == "torch" else jax_runs)(runs)
    version = next(work)
    wall, cpu = time.perf_counter(), time.process_time()
    losses = next(work)
    print(json.dumps({"peer": f"{name} {version}", "runs": len(losses), "loss": sum(losses) / len(losses),
                      "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))


def rates(python, name, runs, processes=1):
    """Runs a minute, and a processor's minute; by so many processes at once."""
    command = [python, os.path.abspath(__file__), "--peer", name, str(runs)]
    at_once = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=race.environment())
               for _ in range(processes)]
    lines = [json.loads(p.communicate()[0] or "null") for p in at_once]
    if any(p.returncode for p in at_once):
        sys.exit(f"many.py: {' '.join(command)} failed")
    if not all(line["loss"] < 1 for line in lines):
        sys.exit(f"many.py: {name} did not learn the task: loss {max(line['loss'] for line in lines):.3f}")
    return (sum(60 * line["runs"] / line["wall"] for line in lines),
            60 * sum(line["runs"] for line in lines) / sum(line["cpu"] for line in lines))


def own_rates(qkv, runs):
    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    with tempfile.TemporaryDirectory() as d:
        study, out = os.path.join(d, "many.json"), os.path.join(d, "out")
        with open(study, "w", encoding="ascii") as f:
            json.dump({"name": "many", "variants": [{"name": "pairs"}], "columns": ["loss"]}, f)
        began, before = time.perf_counter(), used()
        command = [qkv, "study", study, "--seeds", str(runs), "--out", out, "--quiet"]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            sys.exit(f"many.py: {' '.join(command)} failed")
        return 60 * runs / (time.perf_counter() - began), 60 * runs / (used() - before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qkv")
    parser.add_argument("--torch", default="python3", metavar="PYTHON")
    parser.add_argument("--jax", default="python3", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100, help="of qkv a round; PyTorch has a tenth for each processor")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 30, 100], help="of JAX, at once")
    a = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    contestants = {"qkv study": lambda: own_rates(a.qkv, a.runs)}
    for name, python in (("torch", a.torch), ("jax", a.jax)):
        if not race.can_import(python, name):
            print(f"{name} is not there for {python}", file=sys.stderr)
        elif name == "torch":
            contestants["PyTorch loop"] = lambda: rates(a.torch, "torch", max(1, a.runs // 10), cores)
        else:
            for seeds in a.seeds:
                contestants[f"JAX, {seeds} seeds at once"] = lambda seeds=seeds: rates(a.jax, "jax", seeds)
    if len(contestants) == 1:
        sys.exit("many.py: there is nobody to compare with; give --torch or --jax a python3 that can import it")
    best = {}
    for _ in range(a.rounds):
        for name, once in contestants.items():
            best[name] = [max(pair) for pair in zip(once(), best.get(name, (0, 0)))]
    own = best["qkv study"]
    print(f"default runs, {cores} processors: a minute, and a minute of one processor's time; qkv is so many times as fast")
    for name, (wall, cpu) in best.items():
        print(f"{name:25}{wall:8.0f} {own[0] / wall:6.2f}x{cpu:8.0f} {own[1] / cpu:6.2f}x")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(sys.argv[2], int(sys.argv[3]))
    else:
        main()
