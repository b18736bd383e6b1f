"""tape.py QKV RUN: the numbers of `qkv tape` against PyTorch's autograd, from the same checkpoint.

Of a model that attends within the sequence of the task pairs (any layers and heads, without norms and
feed-forward): every value and every gradient of every node; then, of some numbers of every node, the terms
of --why-grad: each is dL/dy[j] (retain_grad) times dy[j]/dx[i] (a one-hot cotangent of PyTorch's own), none
is missing, and the slopes of --why are PyTorch's. Prints how many were compared and the largest difference.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import torch

qkv, run = sys.argv[1:3]
AT = ["--at", sys.argv[3]] if len(sys.argv) > 3 else []
torch.set_default_dtype(torch.float64)


def tape(*args):
    out = subprocess.run([qkv, "tape", run, *AT, *args], check=True, capture_output=True, text=True).stdout
    return json.loads(out) if "--json" in args else out


def close(a, b, what, tolerance=1e-10):
    global compared, worst
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert a.size == b.size, (what, a.shape, b.shape)
    off = float(np.max(np.abs(a.reshape(-1) - b.reshape(-1)), initial=0))
    assert off <= tolerance * max(1, float(np.max(np.abs(b), initial=0))), (what, off)
    compared, worst = compared + a.size, max(worst, off)


compared, worst = 0, 0.0
about = tape("--json")
config = json.load(open(os.path.join(run, "config.json")))
H, L, E = config["heads"], config["layers"], config["d_k"]
nodes = {n["node"]: n for n in about["nodes"]}
with tempfile.TemporaryDirectory() as dir:
    tape("--npy", dir)
    numbers = {name: np.load(os.path.join(dir, name + ".npy")) for name in nodes}
    gradients = {name: np.load(os.path.join(dir, name + ".grad.npy")) for name in nodes}
x = {name: torch.tensor(numbers[name], requires_grad=True) for name in nodes if not nodes[name]["op"]}

# ---- the model, from parameters and words ----
words = [w.split() for w in about["words"]]
keys = torch.tensor([int(k[1:]) for k, _ in words])
values = torch.tensor([len(x["embed.value"]) - 1 if v == "?" else int(v[1:]) for _, v in words])
T, asked = len(words), about["asked"]
right = words[[k for k, _ in words].index(words[asked][0])][1]
h = x["embed"] = (x["embed.key"][keys] + x["embed.value"][values])[None]
seen = torch.ones(T, T).tril().bool()
heads = lambda y: y.view(1, T, H, E).transpose(1, 2)
for l in range(L):
    at = f"layer{l}.attn."
    for m in "qkv":
        x[at + m] = h @ x[at + "w" + m]
    q, k, v = (heads(x[at + m]) for m in "qkv")
    x[at + "scores"] = torch.where(seen, q @ k.transpose(2, 3) / E**0.5, torch.zeros(()))
    x[at + "weights"] = x[at + "scores"].masked_fill(~seen, -torch.inf).softmax(-1)
    visible = torch.where(seen, x[at + "weights"], torch.zeros(()))  # what is masked is never read
    x[at + "mix"] = (visible @ v).transpose(1, 2).reshape(1, T, H * E)
    x[at + "o"] = x[at + "mix"] @ x[at + "wo"]
    h = x[f"layer{l}.out"] = h + x[at + "o"]
x["final"] = h[:, asked]
x["logits.value"] = x["final"] @ x["unembed.value"]
x["loss"] = torch.nn.functional.cross_entropy(x["logits.value"], torch.tensor([int(right[1:])]))
for y in x.values():
    y.retain_grad()
x["loss"].backward(retain_graph=True)
grads = {name: y.grad.clone() for name, y in x.items()}  # later calls of autograd write over .grad
assert set(x) == set(nodes), set(x) ^ set(nodes)

# ---- every number ----
for name, y in x.items():
    close(numbers[name], y.detach(), name)
    close(gradients[name], grads[name], "gradient of " + name)
print(f"{compared} values and gradients of {len(nodes)} nodes, largest difference {worst:.1e}")

# ---- terms ----
compared, worst = 0, 0.0
readers = {name: [n["node"] for n in about["nodes"] if name in n["inputs"].split()] for name in nodes}


def slopes(y, j, of):
    """dy[j]/d of, with all that is between them but y's own step left out: y is made of it directly."""
    return torch.autograd.grad(x[y].reshape(-1)[j], x[of], retain_graph=True, allow_unused=True)[0]


def direct(y, j, of):
    """The same where y's other inputs are made of it, too: those are held."""
    others = [n for n in nodes[y]["inputs"].split() if n != of]
    row = slopes(y, j, of)
    for other in others:
        through = slopes(y, j, other)
        if through is None or not x[other].requires_grad or not nodes[other]["op"]:
            continue
        inner = torch.autograd.grad(x[other], x[of], through, retain_graph=True, allow_unused=True)[0]
        row = row if inner is None else row - inner
    return row


def flat(place, name):
    shape = [d for d in x[name].shape]
    while len(shape) > len(place):
        shape = shape[1:]
    return int(np.ravel_multi_index(place, shape)) if place else 0


random.seed(1)
for name in nodes:
    if name == "loss":
        continue
    hot = [int(i) for i in np.argsort(-np.abs(gradients[name].reshape(-1)))[:2]]
    for i in hot + random.sample(range(numbers[name].size), 2):
        place = np.unravel_index(i, numbers[name].shape)
        got = tape("--json", "--why-grad", f"{name}[{','.join(map(str, place))}]")
        close(got["gradient"], gradients[name].reshape(-1)[i], name)
        close(sum(t["part"] for t in got["terms"]), got["gradient"], f"sum of {name}{place}")
        terms = {(t["node"], flat(t["at"], t["node"])): t for t in got["terms"]}
        for y in readers[name]:
            dy = grads[y].reshape(-1)
            for j in (int(n) for n in torch.nonzero(dy)):
                slope = float(direct(y, j, name).reshape(-1)[i])
                t = terms.pop((y, j), {"part": 0, "slope": 0, "value": float(dy[j])})
                close(t["value"], dy[j], f"dL/d{y}[{j}]")
                close(t["slope"], slope, f"d{y}[{j}]/d{name}[{i}]")
                close(t["part"], float(dy[j]) * slope, f"term {y}[{j}] of {name}[{i}]")
        assert not terms, (name, i, terms)
print(f"{compared} numbers of terms of gradients, largest difference {worst:.1e}")
assert compared > 1000

compared, worst = 0, 0.0
for name in nodes:
    if not nodes[name]["op"]:
        continue
    for j in random.sample(range(numbers[name].size), min(3, numbers[name].size)):
        place = np.unravel_index(j, numbers[name].shape)
        where = f"[{','.join(map(str, place))}]" if place else ""
        got = tape("--json", "--why", name + where)
        close(got["value"], numbers[name].reshape(-1)[j], name)
        terms = {(t["node"], flat(t["at"], t["node"])): t for t in got["terms"]}
        for of in nodes[name]["inputs"].split():
            row = direct(name, j, of).reshape(-1)
            for i in range(len(row)):
                t = terms.pop((of, i), {"slope": 0})
                close(t["slope"], row[i], f"d{name}[{j}]/d{of}[{i}]")
        assert not terms, (name, j, terms)
print(f"{compared} slopes of values, largest difference {worst:.1e}")
assert compared > 1000
