#!/usr/bin/env python3
"""Leave one out, judged by PyTorch: leave_out.py QKV, in an empty directory.

A file of 20 lines is trained on in batches that hold each line once, as it is and without each line in
turn (qkv sweep --without). A loop in PyTorch starts from the same weights and gives that line the weight 0.
Both must leave the same loss of every line.
"""
import csv
import itertools
import os
import subprocess
import sys

import numpy
import torch

STEPS, LINES = 25, 20
OPTIONS = ["--data", "train.txt", "--data-valid", "held.txt", "--data-test", "held.txt",
           "--batch", str(LINES), "--layers", "1", "--heads", "1", "--d-model", "16", "--d-ff", "0", "--norm", "none",
           "--positions", "none", "--lr", "0.01", "--eval-every", str(STEPS)]


def qkv(*args):
    subprocess.run([sys.argv[1], *args], check=True, stdout=subprocess.DEVNULL)


def write_files():
    """Lines of three words, each once; the answer is the first or the second word."""
    names = ["Anna", "Ben", "Cleo", "Dan", "Eva"]
    pairs = [p for p in itertools.product(names, names) if p[0] != p[1]]
    lines = [(a, b, "first" if i % 3 else "second") for i, (a, b) in enumerate(pairs)]
    text = [f"{a} {b} {ask} => {a if ask == 'first' else b}\n" for a, b, ask in lines]
    for name, rows in ("train.txt", text), ("held.txt", text[:2]):
        with open(name, "w", encoding="utf-8") as f:
            f.writelines(rows)
    words, answers = {}, {}  # numbered as they first appear
    ids = [[words.setdefault(w, len(words)) for w in line] for line in lines]
    said = [answers.setdefault(row.split()[-1], len(answers)) for row in text]
    return torch.tensor(ids), torch.tensor(said)


def start():
    qkv("train", "--quiet", *OPTIONS, "--steps", "0", "--out", "start")
    qkv("export", "start", "--npy", "start-npy")
    return {name[:-4]: torch.from_numpy(numpy.load(os.path.join("start-npy/weights", name))).double()
            for name in sorted(os.listdir("start-npy/weights"))}


def losses(weights, ids, said):
    """Of each line; the last word asks, and sees all."""
    x = weights["embed.word"][ids]
    q, k, v = (x @ weights["layer0.attn.w" + r] for r in "qkv")
    looks = (q[:, -1:] @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1)
    last = x[:, -1] + (looks @ v)[:, 0] @ weights["layer0.attn.wo"]
    return torch.nn.functional.cross_entropy(last @ weights["unembed.answer"], said, reduction="none")


def trained(begin, ids, said, without):
    weights = {name: x.clone().requires_grad_() for name, x in begin.items()}
    adam = torch.optim.Adam(weights.values(), lr=0.01, betas=(0.9, 0.999), eps=1e-8)
    weight = torch.ones(LINES, dtype=torch.double)
    if without:
        weight[without - 1] = 0
    for _ in range(STEPS):
        adam.zero_grad()
        ((losses(weights, ids, said) * weight).sum() / LINES).backward()
        adam.step()
    return losses(weights, ids, said).detach()


def main():
    torch.set_num_threads(1)
    ids, said = write_files()
    begin = start()
    qkv("sweep", "--quiet", *OPTIONS, "--steps", str(STEPS), "--without", "", "--without", "1..n",
        "--out", "sweep")
    with open("sweep/cells.csv", encoding="utf-8") as f:
        rows = {row["without"]: row for row in csv.DictReader(f)}
    assert len(rows) == LINES + 1, len(rows)
    worst, effect, whole = 0, 0, None
    for without in range(LINES + 1):
        here = trained(begin, ids, said, without)
        whole = here if whole is None else whole
        row = rows[str(without) if without else ""]
        there = torch.tensor([float(row[f"lines.{i + 1}"]) for i in range(LINES)])
        worst = max(worst, float((here - there).abs().max()))
        effect = max(effect, float((here - whole).abs().max()))
    print(f"{LINES} retrainings: losses differ by at most {worst:.1e}, "
          f"and change by up to {effect:.2f}")
    sys.exit(worst > 1e-3 or effect < 0.1)


main()
