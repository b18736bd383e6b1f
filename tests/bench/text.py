#!/usr/bin/env python3
"""A text of characters learned by qkv and by PyTorch: held-out loss, and the time that training takes.

  text.py QKV FILE [--steps N] [--threads N]

4 layers, 4 heads, width 128, context 64, batch 12, AdamW (0.9, 0.99, decay 0.1 on matrices, clip 1), cosine from 1e-3
to 1e-4 after a warmup of 100 steps, no dropout; layer norm before each sublayer, GELU, learned positions, no biases in
linear maps. The last tenth is held out; the loss is that of its second half, in windows side by side. Debian's
bible-kjv prints a text of 4 MB: bible -f Genesis1:1-Revelation22:21. PyTorch: one matrix for q, k and v,
scaled_dot_product_attention, fused AdamW. Time is that of the training loop in PyTorch, and of the whole program in
qkv, reading the text and writing the run included: CPU seconds on one thread, which a busy neighbour does not move,
and wall seconds on more.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

LAYERS, HEADS, WIDTH, TIME, BATCH, WARMUP, PEAK, LEAST = 4, 4, 128, 64, 12, 100, 1e-3, 1e-4


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def qkv(a, threads, held_out):
    """Seconds, and the loss on the test windows."""
    with tempfile.TemporaryDirectory() as d:
        run = os.path.join(d, "run")
        options = {"task": "text", "data": a.file, "time": TIME, "layers": LAYERS, "heads": HEADS, "d-model": WIDTH,
                   "d-ff": 4 * WIDTH, "norm": "layer", "activation": "gelu", "positions": "learned", "batch": BATCH,
                   "steps": a.steps, "optimizer": "adamw", "beta1": 0.9, "beta2": 0.99, "weight-decay": 0.1, "clip": 1,
                   "lr": PEAK, "least-lr": LEAST, "schedule": "cosine", "warmup": WARMUP, "dropout": 0, "seed": 1,
                   "eval-every": a.steps, "eval-examples": 16, "threads": threads, "out": run}
        began, used = time.perf_counter(), children()
        subprocess.run([a.qkv, "train", "--quiet", *(f"--{k}={v}" for k, v in options.items())], check=True,
                       stdout=subprocess.DEVNULL)
        seconds = children() - used if threads == 1 else time.perf_counter() - began
        out = subprocess.run([a.qkv, "eval", run, "--examples", str(held_out), "--json"], check=True,
                             capture_output=True, text=True)
        return seconds, json.loads(out.stdout)["loss"]


def peer(a, threads):
    """The same, and how many test windows there are."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    with open(a.file, encoding="utf-8", newline="") as f:
        text = f.read()
    symbols = {c: i for i, c in enumerate(dict.fromkeys(text))}
    ids, V, D = torch.tensor([symbols[c] for c in text]), len(symbols), WIDTH
    held = int(len(ids) * 0.1)
    train, test = ids[:len(ids) - held], ids[len(ids) - held // 2:]

    def linear(n_in, n_out):
        layer = nn.Linear(n_in, n_out, bias=False)
        nn.init.normal_(layer.weight, std=n_in**-0.5)
        return layer

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.qkv, self.o, self.up, self.down = linear(D, 3 * D), linear(D, D), linear(D, 4 * D), linear(4 * D, D)

        def forward(self, x):
            B, T, _ = x.shape
            heads = self.qkv(self.norm1(x)).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.o(mixed.transpose(1, 2).reshape(B, T, D))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(V, D), nn.Embedding(TIME, D)
            nn.init.normal_(self.token.weight, std=0.3)
            nn.init.normal_(self.place.weight, std=0.3)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm, self.unembed = nn.LayerNorm(D), linear(D, V)

        def forward(self, x, y):
            x = self.blocks(self.token(x) + self.place.weight)
            return F.cross_entropy(self.unembed(self.norm(x)).view(-1, V), y.reshape(-1))

    model = Model()
    adam = torch.optim.AdamW([{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
                              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}],
                             lr=PEAK, betas=(0.9, 0.99), fused=True)
    windows, clock = torch.arange(TIME), time.process_time if threads == 1 else time.perf_counter
    began = clock()
    for step in range(a.steps):
        rate = PEAK * (step + 1) / (WARMUP + 1) if step < WARMUP else \
            LEAST + (PEAK - LEAST) * (1 + math.cos(math.pi * (step - WARMUP) / (a.steps - WARMUP))) / 2
        for group in adam.param_groups:
            group["lr"] = rate
        at = torch.randint(len(train) - TIME, (BATCH, 1)) + windows
        loss = model(train[at], train[at + 1])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
    seconds, n = clock() - began, (len(test) - 1) // TIME
    with torch.no_grad():
        x, y = test[:n * TIME].view(n, TIME), test[1:n * TIME + 1].view(n, TIME)
        losses = [model(x[i:i + 64], y[i:i + 64]) * len(x[i:i + 64]) for i in range(0, n, 64)]
    return seconds, float(sum(losses) / n), n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qkv")
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    try:
        theirs, their_loss, n = peer(a, a.threads)
    except ImportError:
        sys.exit(f"text.py: {sys.executable} has no torch; run it with a python3 that has")
    ours, our_loss = qkv(a, a.threads, n)
    print(f"{a.steps} steps, {a.threads} thread(s), {'CPU' if a.threads == 1 else 'wall'} seconds: "
          f"qkv {ours:.1f}, PyTorch {theirs:.1f}, {theirs / ours:.2f} times as long; "
          f"loss on {n} held-out windows: qkv {our_loss:.4f}, PyTorch {their_loss:.4f}")


main()
