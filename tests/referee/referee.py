#!/usr/bin/env python3
"""Random graphs over all ops, against PyTorch in double.

    referee.py PROGRAM [--graphs N] [--seed S] [--first I] [--control] [--show]

PROGRAM (graphs.c) records graph after graph and writes them down with the values of all nodes and
the gradients of all leaves. Here each is built again from its description, and the two must agree
to 1e-10 of max(1, the greatest number of the tensor). What an op is in PyTorch stands in its
descriptor. Fails on a difference, and when an op that has a peer was never compared: its value, and a
gradient that went through it. --control has PROGRAM spoil some gradients by 1e-6 of themselves, and
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


def place(T, first):
    """Where rows stand: [T], or of each example [B,1,T]."""
    return torch.tensor(first)[:, None] if isinstance(first, tuple) else first + torch.arange(T)


def hashable(mask):
    return tuple(hashable(x) if isinstance(x, list) else x for x in mask)


@functools.lru_cache(maxsize=None)
def visible(T, S, causal, no_self, memory, first, *length):
    """[T,S]: which keys each query sees; with lengths, or places in place of first, [B,1,T,S]."""
    t, s = place(T, first)[..., None], torch.arange(S)[None, :]
    seen = torch.ones(*t.shape[:-1], S, dtype=torch.bool)
    if causal:
        seen &= s <= t
    if no_self:
        seen &= s != t
    if memory:
        seen &= s < memory
    if length:
        seen = seen & (s < torch.tensor(length)[:, None, None, None])
    return seen


def rows_of(table, ids):
    """table[ids], where -1 is a row of zeros."""
    ids = torch.as_tensor(ids, dtype=torch.long)
    return torch.cat([table, torch.zeros(1, table.shape[-1])])[ids]


def softmax(x, mask):
    mask = hashable(mask)
    seen = visible(x.shape[-2] if x.dim() > 1 else 1, x.shape[-1], *mask)
    if x.dim() == 1:
        seen = seen[0]
    if seen.dim() > x.dim():  # [B,T,S], there are no heads
        seen = seen[:, 0]
    some = seen.any(-1, keepdim=True)  # a row that sees nothing would be NaN
    hidden = torch.where(some, x.masked_fill(~seen, -math.inf), torch.zeros(()))
    return torch.where(seen, torch.softmax(hidden, -1), torch.zeros(()))


def scores(q, k, heads, factor, mask):
    (B, T, W), S, E = q.shape, k.shape[1], q.shape[2] // heads
    k = k.reshape(B, S, -1, E).repeat_interleave(heads // (k.shape[2] // E), dim=2)
    y = factor * torch.einsum("bthe,bshe->bhts", q.reshape(B, T, heads, E), k)
    return y.masked_fill(~visible(T, S, *hashable(mask)), 0)


def mix(w, v, kv_heads, mask):
    (B, H, T, S), E = w.shape, v.shape[2] // kv_heads
    v = v.reshape(B, S, kv_heads, E).repeat_interleave(H // kv_heads, dim=2)
    w = w.masked_fill(~visible(T, S, *hashable(mask)), 0)
    return torch.einsum("bhts,bshe->bthe", w, v).reshape(B, T, H * E)


def rope(x, heads, base, first, places):
    T, E = x.shape[-2], x.shape[-1] // heads
    at = torch.tensor(places) if places else first + torch.arange(T)  # [B,T] or [T]
    angle = at[..., None] * base ** (-torch.arange(0, E, 2) / E)
    cos, sin = torch.cos(angle)[..., None, :], torch.sin(angle)[..., None, :]  # [..,T,1,E/2]
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
    flat = x.permute(kept + gone).reshape([x.shape[a] for a in kept] +
                                          [math.prod(x.shape[a] for a in gone)])
    if flat.numel() == 0:
        return flat.sum(-1)
    return flat.gather(-1, flat.argmax(-1, keepdim=True)).squeeze(-1)


def embedding(tables, ids, of):
    def one(table, at):
        if at is None:  # each position its own row
            return table[: of[-1] if of else 1].expand(*of, -1) if of else table[0]
        return rows_of(table, at).reshape(*of, table.shape[-1])

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


def over(x, axes):
    return axes if axes else list(range(x.dim()))


@functools.lru_cache(maxsize=None)
def compiled(expression):
    return compile(expression, expression, "eval")


def apply(expression, x, node):
    """An op's expression, with its arguments by their names."""
    return eval(compiled(expression), globals(), dict(node, x=x))


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


def rebuild(peers, nodes, given):
    """The same graph in PyTorch, from the leaves' values on."""
    made = []
    for node, value in zip(nodes, given):
        if node["op"] == "leaf":
            made.append(value.clone().requires_grad_(bool(node["wants"])))
            continue
        made.append(apply(peers[node["op"]], [made[i] for i in node["in"]], node))
    return made


def judge(peers, graph, stream):
    """Yields (what, difference) for every value and every gradient."""
    nodes, roots = graph["nodes"], graph["roots"]
    leaves = [i for i, node in enumerate(nodes) if node.get("wants")]
    shapes = [node["shape"] for node in nodes]
    wanted = shapes + [shapes[i] for i in leaves] + [shapes[r] for r in roots]
    numbers = Numbers(stream, sum(math.prod(s) for s in wanted))
    given = [numbers.next(s) for s in shapes]
    gradients = [numbers.next(shapes[i]) for i in leaves]
    cotangents = [numbers.next(shapes[r]) for r in roots]
    made = rebuild(peers, nodes, given)
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


def learning(graph):
    """The ops of the nodes between a root and a leaf that learns."""
    nodes = graph["nodes"]
    learns, asked = [], set(graph["roots"])
    for node in nodes:
        learns.append(bool(node.get("wants")) or any(learns[i] for i in node.get("in", ())))
    for i in range(len(nodes) - 1, -1, -1):
        if i in asked:
            asked.update(nodes[i].get("in", ()))
    return [nodes[i]["op"] for i in asked if learns[i]]


class Report:
    def __init__(self):
        self.graphs = self.nodes = self.leaves = self.shared = self.twice = self.rooted = 0
        self.ops, self.wrong, self.spoiled = collections.Counter(), [], []
        self.learned = collections.Counter()  # ops that a gradient which was compared went through
        self.worst = (0.0, "nowhere")

    def count(self, graph):
        self.graphs += 1
        uses = collections.Counter()
        for node in graph["nodes"]:
            self.ops[node["op"]] += 1
            uses.update(set(node.get("in", ())))
            self.twice += len(set(node.get("in", ()))) < len(node.get("in", ()))
        self.learned.update(learning(graph))
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
        for what, off in judge(catalogue, graph, child.stdout):
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
    print("  ".join(f"{op} {r.ops[op]}" for op in catalogue if r.ops[op]))
    print(f"worst difference {r.worst[0]:.3g}: {r.worst[1]}; {len(r.wrong)} graphs wrong")
    alone = [op for op, peer in catalogue.items() if not peer]
    if alone:
        print(f"no peer, not compared: {', '.join(alone)}")
    never = [op for op, peer in catalogue.items() if peer and not (r.ops[op] and r.learned[op])]
    if never or not r.leaves:
        sys.exit(f"referee: never compared: {', '.join(never) or 'anything'}")
    sys.exit(1 if r.wrong else 0)


if __name__ == "__main__":
    main()
