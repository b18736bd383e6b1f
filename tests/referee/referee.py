#!/usr/bin/env python3
"""Random graphs over all ops, against PyTorch in double.

    referee.py PROGRAM [--graphs N] [--seed S] [--first I] [--control] [--show]

PROGRAM (graphs.c) records graph after graph and writes them down with the values of all nodes and
the gradients of all leaves. Here each is built again from its description, and the two must agree
to 1e-10 of max(1, the greatest number of the tensor). Fails on a difference, and when an op of the
catalogue was never drawn. --control has PROGRAM spoil some gradients by 1e-6 of themselves, and
succeeds only if exactly those graphs are found to be wrong. --show prints the graphs (use it with
--first I --graphs 1).
"""
import argparse
import collections
import functools
import json
import math
import subprocess
import sys

import torch
import torch.nn.functional as F

TOLERANCE = 1e-10
torch.set_num_threads(1)  # the graphs are small
torch.set_default_dtype(torch.float64)


# ---- what masks and ids mean ----


@functools.lru_cache(maxsize=None)
def visible(T, S, causal, no_self, memory):
    """[T,S]: which keys each query sees."""
    t, s = torch.arange(T)[:, None], torch.arange(S)[None, :]
    seen = torch.ones(T, S, dtype=torch.bool)
    if causal:
        seen &= s <= t
    if no_self:
        seen &= s != t
    if memory:
        seen &= s < memory
    return seen


def rows_of(table, ids):
    """table[ids], where -1 is a row of zeros."""
    ids = torch.as_tensor(ids, dtype=torch.long)
    return torch.cat([table, torch.zeros(1, table.shape[-1])])[ids]


def softmax(x, mask):
    seen = visible(x.shape[-2] if x.dim() > 1 else 1, x.shape[-1], *mask)
    if x.dim() == 1:
        seen = seen[0]
    some = seen.any(-1, keepdim=True)  # a row that sees nothing would be NaN
    hidden = torch.where(some, x.masked_fill(~seen, -math.inf), torch.zeros(()))
    return torch.where(seen, torch.softmax(hidden, -1), torch.zeros(()))


def scores(q, k, heads, factor, mask):
    (B, T, W), S, E = q.shape, k.shape[1], q.shape[2] // heads
    k = k.reshape(B, S, -1, E).repeat_interleave(heads // (k.shape[2] // E), dim=2)
    y = factor * torch.einsum("bthe,bshe->bhts", q.reshape(B, T, heads, E), k)
    return y.masked_fill(~visible(T, S, *mask), 0)


def mix(w, v, kv_heads, mask):
    (B, H, T, S), E = w.shape, v.shape[2] // kv_heads
    v = v.reshape(B, S, kv_heads, E).repeat_interleave(H // kv_heads, dim=2)
    w = w.masked_fill(~visible(T, S, *mask), 0)
    return torch.einsum("bhts,bshe->bthe", w, v).reshape(B, T, H * E)


def rope(x, heads, base):
    T, E = x.shape[-2], x.shape[-1] // heads
    angle = torch.arange(T)[:, None] * base ** (-torch.arange(0, E, 2) / E)
    cos, sin = torch.cos(angle)[:, None, :], torch.sin(angle)[:, None, :]  # [T,1,E/2]
    even, odd = x.reshape(*x.shape[:-1], heads, E // 2, 2).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def layer_norm(x, gain, bias, eps):
    """Not F.layer_norm, whose gradient of a row of width 1 is rounding noise instead of 0."""
    off = x - x.mean(-1, keepdim=True)
    return off / torch.sqrt((off * off).mean(-1, keepdim=True) + eps) * gain + bias


def greatest(x, axes):
    """The first of the greatest gets the gradient."""
    gone = sorted(a % x.dim() for a in axes) if axes else list(range(x.dim()))
    kept = [a for a in range(x.dim()) if a not in gone]
    flat = x.permute(kept + gone).reshape([x.shape[a] for a in kept] + [-1])
    return flat.gather(-1, flat.argmax(-1, keepdim=True)).squeeze(-1)


def embedding(tables, ids, of):
    def one(table, at):
        if at is None:  # each position its own row
            return table[: of[-1] if of else 1].expand(*of, -1) if of else table[0]
        return rows_of(table, at).reshape(*of, -1)

    return sum(one(table, at) for table, at in zip(tables, ids))


def cross_entropy(x, targets, weight):
    scored = sum(t >= 0 for t in targets)
    if weight is None:
        weight = 1 / scored if scored else 0
    x, targets = x.reshape(len(targets), x.shape[-1]), torch.tensor(targets, dtype=torch.long)
    return weight * F.cross_entropy(x, targets, ignore_index=-1, reduction="sum")


def squared_error(a, b, weight):
    if weight is None:
        weight = 1 / max(1, a.numel())
    return weight * F.mse_loss(a, b, reduction="sum")


def dropout(x, p, training, fell):
    """fell: what the library made of ones."""
    if not training or p == 0:
        return x
    assert ((fell == 0) | ((fell - 1 / (1 - p)).abs() < 1e-12)).all(), "no dropout mask"
    return x * fell


def over(x, axes):
    return axes if axes else list(range(x.dim()))


# ---- the ops: one line each; x is the list of inputs, a the arguments ----

OPS = {
    "add": lambda x, a: x[0] + x[1],
    "sub": lambda x, a: x[0] - x[1],
    "mul": lambda x, a: x[0] * x[1],
    "div": lambda x, a: x[0] / x[1],
    "neg": lambda x, a: -x[0],
    "scale": lambda x, a: a["factor"] * x[0],
    "exp": lambda x, a: torch.exp(x[0]),
    "log": lambda x, a: torch.log(x[0]),
    "sqrt": lambda x, a: torch.sqrt(x[0]),
    "tanh": lambda x, a: torch.tanh(x[0]),
    "sigmoid": lambda x, a: torch.sigmoid(x[0]),
    "relu": lambda x, a: F.relu(x[0]),
    "gelu": lambda x, a: F.gelu(x[0], approximate=a["form"]),
    "silu": lambda x, a: F.silu(x[0]),
    "dropout": lambda x, a: dropout(x[0], a["p"], a["training"], a["fell"]),
    "matmul": lambda x, a: x[0] @ x[1],
    "sum": lambda x, a: x[0].sum(over(x[0], a["axes"])),
    "mean": lambda x, a: x[0].mean(over(x[0], a["axes"])),
    "max": lambda x, a: greatest(x[0], a["axes"]),
    "reshape": lambda x, a: x[0].reshape(a["to"]),
    "permute": lambda x, a: x[0].permute(a["axes"]),
    "slice": lambda x, a: x[0][(slice(None),) * a["cut"][0] + (slice(a["cut"][1], a["cut"][2]),)],
    "concat": lambda x, a: torch.cat(x, a["axis"]),
    "linear": lambda x, a: F.linear(x[0], x[1].T, x[2] if len(x) > 2 else None),
    "embedding": lambda x, a: embedding(x, a["ids"], a["of"]),
    "gather": lambda x, a: rows_of(x[0].reshape(-1, x[0].shape[-1]), a["rows"]),
    "layer_norm": lambda x, a: layer_norm(x[0], x[1], x[2], a["eps"]),
    "rms_norm": lambda x, a: F.rms_norm(x[0], x[1].shape, x[1], a["eps"]),
    "rope": lambda x, a: rope(x[0], a["heads"], a["base"]),
    "scores": lambda x, a: scores(x[0], x[1], a["heads"], a["factor"], tuple(a["mask"])),
    "softmax": lambda x, a: softmax(x[0], tuple(a["mask"])),
    "log_softmax": lambda x, a: F.log_softmax(x[0], -1),
    "mix": lambda x, a: mix(x[0], x[1], a["kv_heads"], tuple(a["mask"])),
    "cross_entropy": lambda x, a: cross_entropy(x[0], a["targets"], a["weight"]),
    "squared_error": lambda x, a: squared_error(x[0], x[1], a["weight"]),
}


# ---- judging one graph ----


class Numbers:
    """The doubles that follow a graph's line, handed out tensor by tensor."""

    def __init__(self, stream, count):
        raw = bytearray(stream.read(8 * count))
        if len(raw) != 8 * count:
            sys.exit("referee: the stream ends within a graph")
        self.all = torch.frombuffer(raw, dtype=torch.float64) if count else torch.empty(0)
        self.at = 0

    def next(self, shape):
        begin, self.at = self.at, self.at + math.prod(shape)
        return self.all[begin : self.at].reshape(shape)


def difference(got, expected):
    """The greatest, over max(1, the greatest expected); infinite where NaN or another shape."""
    if got.shape != expected.shape:
        return math.inf
    if got.numel() == 0:
        return 0.0
    worst = ((got - expected).abs().max() / expected.abs().max().clamp(min=1)).item()
    return math.inf if math.isnan(worst) else worst


def rebuild(nodes, given):
    """The same graph in PyTorch, from the leaves' values on."""
    made = []
    for node, value in zip(nodes, given):
        if node["op"] == "leaf":
            made.append(value.clone().requires_grad_(bool(node["wants"])))
            continue
        if "fell" in node:
            node = dict(node, fell=given[node["fell"]])
        made.append(OPS[node["op"]]([made[i] for i in node["in"]], node))
    return made


def judge(graph, stream):
    """Yields (what, difference) for every value and every gradient."""
    nodes, roots = graph["nodes"], graph["roots"]
    leaves = [i for i, node in enumerate(nodes) if node.get("wants")]
    shapes = [node["shape"] for node in nodes]
    wanted = shapes + [shapes[i] for i in leaves] + [shapes[r] for r in roots]
    numbers = Numbers(stream, sum(math.prod(s) for s in wanted))
    given = [numbers.next(s) for s in shapes]
    gradients = [numbers.next(shapes[i]) for i in leaves]
    cotangents = [numbers.next(shapes[r]) for r in roots]
    made = rebuild(nodes, given)
    for i, (value, expected) in enumerate(zip(given, made)):
        yield f"value of node {i} ({nodes[i]['op']})", difference(value, expected.detach())
    expected = [None] * len(leaves)
    if roots and leaves:
        expected = torch.autograd.grad([made[r] for r in roots], [made[i] for i in leaves],
                                       cotangents, allow_unused=True)
    for i, got, want in zip(leaves, gradients, expected):
        want = torch.zeros_like(got) if want is None else want
        yield f"gradient of leaf {i}", difference(got, want)


# ---- the run ----


class Report:
    def __init__(self):
        self.graphs = self.nodes = self.leaves = self.shared = self.twice = self.rooted = 0
        self.ops, self.wrong, self.spoiled = collections.Counter(), [], []
        self.worst = (0.0, "nowhere")

    def count(self, graph):
        self.graphs += 1
        uses = collections.Counter()
        for node in graph["nodes"]:
            self.ops[node["op"]] += 1
            uses.update(set(node.get("in", ())))
            self.twice += len(set(node.get("in", ()))) < len(node.get("in", ()))
        self.nodes += len(graph["nodes"])
        self.shared += sum(n > 1 for n in uses.values())
        self.rooted += len(graph["roots"]) > 1
        if graph["spoiled"]:
            self.spoiled.append(graph["graph"])

    def add(self, graph, what, off):
        self.leaves += what.startswith("gradient")
        where = f"graph {graph['graph']}, {what}"
        self.worst = max(self.worst, (off, where))
        if not off <= TOLERANCE:
            if not self.wrong or self.wrong[-1] != graph["graph"]:
                self.wrong.append(graph["graph"])
                print(f"{where}: off by {off:.3g}")


def run(args):
    command = [args.program, str(args.seed), str(args.first), str(args.graphs)]
    child = subprocess.Popen(command + ["spoil"] * args.control, stdout=subprocess.PIPE)
    catalogue = json.loads(child.stdout.readline())["ops"]
    report = Report()
    for line in child.stdout:
        graph = json.loads(line)
        if args.show:
            for i, node in enumerate(graph["nodes"]):
                print(i, node)
            print("roots", graph["roots"])
        report.count(graph)
        for what, off in judge(graph, child.stdout):
            report.add(graph, what, off)
    if child.wait() != 0 or report.graphs != args.graphs:
        sys.exit(f"referee: {args.program} stopped after {report.graphs} graphs")
    return catalogue, report


def main():
    parser = argparse.ArgumentParser(description="Random graphs against PyTorch.")
    parser.add_argument("program")
    parser.add_argument("--graphs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    catalogue, r = run(args)
    print(f"{r.graphs} graphs, {r.nodes} nodes, {r.leaves} gradients of leaves; {r.shared} nodes "
          f"serve several others, {r.twice} take one input twice, "
          f"{r.rooted} graphs with several roots")
    if args.control:
        print(f"control: {len(r.spoiled)} spoiled, {len(r.wrong)} found wrong")
        sys.exit(0 if r.spoiled and r.spoiled == r.wrong else "referee: control failed")
    print("  ".join(f"{op} {r.ops[op]}" for op in catalogue))
    print(f"worst difference {r.worst[0]:.3g}: {r.worst[1]}; {len(r.wrong)} graphs wrong")
    never = [op for op in catalogue if not r.ops[op]]
    if never:
        sys.exit(f"referee: never covered: {', '.join(never)}")
    sys.exit(1 if r.wrong else 0)


if __name__ == "__main__":
    main()
