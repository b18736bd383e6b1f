#!/usr/bin/env python3
"""Times a training step of qkv and of its peers in turn, in one run, and prints one table.

  race.py QKV [SIZE...] [--threads N] [--rounds R] [--seconds S] [--torch PYTHON] [--jax PYTHON]

A peer takes part if its Python (python3 unless given) can import it. Each figure is the least of the rounds' medians,
ms a step: CPU time with one thread, all pinned to one processor; wall time with more. The limit is the step's
multiplications and additions (attention counted without its mask) at the peak that qkv measures. Clocks drift: read
the ratios, not the times.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"tiny": (32, 16, 32, 2, 64, 1), "small": (64, 32, 64, 4, 64, 1),  # B, T, D, heads, V, layers
         "medium": (32, 128, 128, 4, 128, 1), "large": (8, 512, 512, 8, 512, 1),
         "text": (12, 64, 128, 4, 96, 4),  # what a small model of text has: context 64, printable ASCII
         **{f"T{T}": (max(1, 8192 // T), T, 64, 4, 64, 1) for T in (256, 512, 1024, 2048, 4096)}}
# Only when asked for: one sequence, of which qkv without streaming would keep planes of 4 GiB.
ASKED = {"T16384": (1, 16384, 64, 4, 64, 1)}
NAMES = ("batch", "time", "d-model", "heads", "vocab", "layers")


def environment():
    """Peers at their best: memory is kept, not given back to the system after each step."""
    return dict(os.environ, MALLOC_MMAP_THRESHOLD_="4294967296", MALLOC_TRIM_THRESHOLD_="4294967296")


def run(command, pinned):
    command = ["taskset", "-c", "0", *command] if pinned else command
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    if done.returncode:
        sys.exit(f"race.py: {' '.join(command)}: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def can_import(python, module):
    try:
        return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    except OSError:
        return False


def contestants(a):
    pinned, rest = a.threads == 1, ["--threads", str(a.threads), "--seconds", str(a.seconds)]

    def qkv(sizes):
        options = [word for name, n in zip(NAMES, sizes) for word in (f"--{name}", str(n))]
        line = run([a.qkv, "bench", *options, "--json", *rest], pinned)[0]
        return line["cpu_ms_median" if pinned else "ms_median"], line["peak_rss_mib"]

    def peer(name, python):
        def step(sizes):
            *sizes, layers = map(str, sizes)
            line = run([python, os.path.join(HERE, "peer.py"), name, *sizes, "--layers", layers, *rest], pinned)[0]
            return line["ms"], line["peak_rss_mib"]
        return step

    yield "qkv", qkv
    for name, python in (("torch", a.torch), ("jax", a.jax)):
        if can_import(python, name):
            yield name, peer(name, python)
        else:
            print(f"{name} is not there for {python}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qkv")
    parser.add_argument("sizes", nargs="*", metavar="SIZE", help=" ".join(SIZES | ASKED) + "; default: all but the last")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--torch", default="python3", metavar="PYTHON")
    parser.add_argument("--jax", default="python3", metavar="PYTHON")
    a = parser.parse_intermixed_args()
    there = SIZES | ASKED
    if unknown := [p for p in a.sizes if p not in there]:
        sys.exit(f"race.py: no size '{unknown[0]}' (there are {', '.join(there)})")
    gemm = run([a.qkv, "bench", "--gemm", "--seconds", "0.1", "--json"], True)[0]
    peak = a.threads * gemm["gflops"] / gemm["of_peak"]
    who = list(contestants(a))
    print(f"{'CPU' if a.threads == 1 else 'wall'} ms a step, {a.threads} thread(s), limit at {peak:.0f} GFLOP/s; "
          f"times qkv's; memory in MiB")
    print(f"{'':8}{'limit':>16}" + "".join(f"{name:>23}" for name, _ in who))
    for size in a.sizes or SIZES:
        B, T, D, _, V, L = there[size]
        limit = (6 * (12 * L * D * D + D * V) * B * T + 12 * L * B * T * T * D) / peak / 1e6
        best = {}
        for _ in range(a.rounds):
            for name, step in who:
                best[name] = min(step(there[size]), best.get(name, (float("inf"), 0)))
        own = best["qkv"][0]
        print(f"{size:8}{limit:9.3f} {limit / own:5.2f}x"
              + "".join(f"{ms:10.3f} {ms / own:5.2f}x {mib:5.0f}" for ms, mib in best.values()), flush=True)


if __name__ == "__main__":
    main()
