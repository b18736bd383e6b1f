#!/usr/bin/env python3
"""Times a training step of qkv and of its peers in turn, in one run, and prints one table.

  race.py QKV [PRESET...] [--threads N] [--rounds R] [--seconds S] [--torch PYTHON] [--jax PYTHON]

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
PRESETS = {"tiny": (32, 16, 32, 2, 64), "small": (64, 32, 64, 4, 64),  # B, T, D, heads, V
           "medium": (32, 128, 128, 4, 128), "large": (8, 512, 512, 8, 512)}


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
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def contestants(a):
    pinned, rest = a.threads == 1, ["--threads", str(a.threads), "--seconds", str(a.seconds)]

    def qkv(preset):
        line = run([a.qkv, "bench", "--preset", preset, "--json", *rest], pinned)[0]
        return line["cpu_ms_median" if pinned else "ms_median"], line["peak_rss_mib"]

    def peer(name, python):
        def step(preset):
            sizes = map(str, PRESETS[preset])
            line = run([python, os.path.join(HERE, "peer.py"), name, *sizes, *rest], pinned)[0]
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
    parser.add_argument("presets", nargs="*", metavar="PRESET", help=" ".join(PRESETS) + "; default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--torch", default="python3", metavar="PYTHON")
    parser.add_argument("--jax", default="python3", metavar="PYTHON")
    a = parser.parse_intermixed_args()
    if unknown := [p for p in a.presets if p not in PRESETS]:
        sys.exit(f"race.py: no preset '{unknown[0]}' (there are {', '.join(PRESETS)})")
    gemm = run([a.qkv, "bench", "--gemm", "--seconds", "0.1", "--json"], True)[0]
    peak = a.threads * gemm["gflops"] / gemm["of_peak"]
    who = list(contestants(a))
    print(f"{'CPU' if a.threads == 1 else 'wall'} ms a step, {a.threads} thread(s), limit at {peak:.0f} GFLOP/s; "
          f"times qkv's; memory in MiB")
    print(f"{'':8}{'limit':>16}" + "".join(f"{name:>23}" for name, _ in who))
    for preset in a.presets or PRESETS:
        B, T, D, _, V = PRESETS[preset]
        limit = (6 * (12 * D * D + D * V) * B * T + 12 * B * T * T * D) / peak / 1e6
        best = {}
        for _ in range(a.rounds):
            for name, step in who:
                best[name] = min(step(preset), best.get(name, (float("inf"), 0)))
        own = best["qkv"][0]
        print(f"{preset:8}{limit:9.3f} {limit / own:5.2f}x"
              + "".join(f"{ms:10.3f} {ms / own:5.2f}x {mib:5.0f}" for ms, mib in best.values()), flush=True)


main()
