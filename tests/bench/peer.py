#!/usr/bin/env python3
"""One training step of qkv bench's model in PyTorch or JAX, as fast as each can do it; prints a line of JSON.

  peer.py torch|jax B T D HEADS V [--layers L] [--threads N] [--seconds S]

The model: token and position embedding; in each layer x += attention(norm(x)), causal; x += down(relu(up(norm(x)))), 4 D wide;
norm, unembedding, mean cross-entropy over all positions; Adam. Biases, layer norms, float32, random tokens. PyTorch:
one matrix for q, k and v, scaled_dot_product_attention, fused Adam. JAX: one jitted step. With one thread ms is CPU
time, which a busy neighbour does not move; else wall time. The first steps, compilation too, are not counted.
"""
import argparse
import json
import os
import resource
import statistics
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["torch", "jax"])
    for name in ("B", "T", "D", "heads", "V"):
        parser.add_argument(name, type=int)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    return parser.parse_args()


def torch_step(a):
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(a.threads)
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(a.D), nn.LayerNorm(a.D)
            self.qkv, self.o = nn.Linear(a.D, 3 * a.D), nn.Linear(a.D, a.D)
            self.up, self.down = nn.Linear(a.D, 4 * a.D), nn.Linear(4 * a.D, a.D)

        def forward(self, x):
            heads = self.qkv(self.norm1(x)).view(a.B, a.T, 3, a.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.o(mixed.transpose(1, 2).reshape(a.B, a.T, a.D))
            return x + self.down(F.relu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(a.V, a.D), nn.Parameter(torch.randn(a.T, a.D))
            self.blocks = nn.Sequential(*(Block() for _ in range(a.layers)))
            self.norm, self.unembed = nn.LayerNorm(a.D), nn.Linear(a.D, a.V, bias=False)

        def forward(self, ids, targets):
            x = self.blocks(self.token(ids) + self.place)
            return F.cross_entropy(self.unembed(self.norm(x)).view(-1, a.V), targets.view(-1))

    model = Model()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    ids, targets = torch.randint(a.V, (2, a.B, a.T))

    def step():
        adam.zero_grad(set_to_none=True)
        loss = model(ids, targets)
        loss.backward()
        adam.step()
        return loss.item()

    return step, torch.__version__


def jax_step(a):
    # XLA's thread pool is as large as the process's share of the processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: a.threads])
    import jax
    from jax import numpy as np

    keys = iter(jax.random.split(jax.random.key(0), 8 + 4 * a.layers))

    def matrix(rows, columns):
        return jax.random.normal(next(keys), (rows, columns)) / rows**0.5

    D, E = a.D, a.D // a.heads
    norm = {"gain": np.ones(D), "bias": np.zeros(D)}

    def block():
        return {"norm1": norm, "norm2": norm, "qkv": matrix(D, 3 * D), "qkv_bias": np.zeros(3 * D), "o": matrix(D, D),
                "o_bias": np.zeros(D), "up": matrix(D, 4 * D), "up_bias": np.zeros(4 * D), "down": matrix(4 * D, D),
                "down_bias": np.zeros(D)}

    model = {"token": matrix(a.V, D), "place": matrix(a.T, D), "blocks": [block() for _ in range(a.layers)],
             "norm": norm, "unembed": matrix(D, a.V)}
    ids, targets = (jax.random.randint(next(keys), (a.B, a.T), 0, a.V) for _ in range(2))
    hidden = np.triu(np.full((a.T, a.T), -np.inf), 1)

    def normed(p, x):
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]

    def through(p, x):
        heads = (normed(p["norm1"], x) @ p["qkv"] + p["qkv_bias"]).reshape(a.B, a.T, 3, a.heads, E)
        q, k, v = heads[:, :, 0], heads[:, :, 1], heads[:, :, 2]
        weights = jax.nn.softmax(np.einsum("bthe,bshe->bhts", q, k) / E**0.5 + hidden)
        x = x + np.einsum("bhts,bshe->bthe", weights, v).reshape(a.B, a.T, D) @ p["o"] + p["o_bias"]
        return x + jax.nn.relu(normed(p["norm2"], x) @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]

    def loss(p):
        x = p["token"][ids] + p["place"]
        for block in p["blocks"]:
            x = through(block, x)
        logs = jax.nn.log_softmax(normed(p["norm"], x) @ p["unembed"])
        return -np.take_along_axis(logs, targets[..., None], -1).mean()

    @jax.jit
    def update(p, mean, square, n):
        value, grad = jax.value_and_grad(loss)(p)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grad)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grad)
        fix1, fix2 = 1 - 0.9**n, 1 - 0.999**n
        p = jax.tree.map(lambda w, m, s: w - 1e-3 * (m / fix1) / (np.sqrt(s / fix2) + 1e-8), p, mean, square)
        return p, mean, square, value

    state = [model, jax.tree.map(np.zeros_like, model), jax.tree.map(np.zeros_like, model), 0]

    def step():
        state[3] += 1
        *state[:3], value = update(*state[:3], float(state[3]))
        return float(value)

    return step, jax.__version__


def main():
    a = arguments()
    step, version = (torch_step if a.peer == "torch" else jax_step)(a)
    for _ in range(5):
        first = step()
    clock = time.process_time if a.threads == 1 else time.perf_counter
    samples, end = [], time.perf_counter() + a.seconds
    while time.perf_counter() < end or len(samples) < 3:
        began = clock()
        last = step()
        samples.append(clock() - began)
    print(json.dumps({"peer": f"{a.peer} {version}", "threads": a.threads, "ms": 1e3 * statistics.median(samples),
                      "steps": len(samples), "loss_first": first, "loss_last": last,
                      "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


main()
