#!/usr/bin/env python3
"""How the cost of qkv's training step grows: one size after the other varied about a middle, and memory with it.

  growth.py QKV [--rounds R] [--seconds S]

Prints Markdown: ms a step (CPU; the least of the rounds' medians), GFLOP/s, its share of one core's measured peak, peak
memory.
"""
import argparse
import json
import subprocess

MIDDLE = {"batch": 32, "time": 64, "d-model": 64, "heads": 4, "layers": 1, "vocab": 64}
VARIED = {"time": [16, 64, 256, 1024, 2048], "d-model": [16, 32, 64, 128, 256, 512, 1024], "heads": [1, 2, 4, 8, 16],
          "layers": [1, 2, 4, 8], "batch": [4, 8, 32, 128, 512], "threads": [1, 2]}


def run(qkv, options, *flags):
    """The first line of qkv bench with these options."""
    command = [qkv, "bench", "--json", *flags]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qkv")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    a = parser.parse_args()
    first = run(a.qkv, {"seconds": 0.1}, "--gemm")
    peak = first["gflops"] / first["of_peak"]
    print(f"About B 32, T 64, D 64, 4 heads, 1 layer, V 64; one core's peak {peak:.0f} GFLOP/s.\n")
    for name, values in VARIED.items():
        print(f"| {name} | ms | GFLOP/s | of peak | MiB |\n|---:|---:|---:|---:|---:|")
        wall, best = name == "threads", {}
        for value in a.rounds * values:
            r = run(a.qkv, {**MIDDLE, name: value, "seconds": a.seconds})
            ms, rate = (r["ms_median"], r["gflops"]) if wall else (r["cpu_ms_median"], r["gflops_cpu"])
            best[value] = min((ms, rate, r["peak_rss_mib"]), best.get(value, (float("inf"),)))
        for value, (ms, rate, mib) in best.items():
            print(f"| {value} | {ms:.3g} | {rate:.0f} | {100 * rate / peak:.0f} % | {mib:.1f} |")
        print(flush=True)


main()
