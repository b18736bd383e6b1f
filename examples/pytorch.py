#!/usr/bin/env python3
"""A run of qkv as a PyTorch module: the same logits to rounding, and weights written back.

    qkv train --out runs/a
    python3 examples/pytorch.py runs/a                 compares the two on held-out examples
    python3 examples/pytorch.py runs/a new.safetensors  trains it on a little in PyTorch, and writes
    qkv eval runs/a --weights new.safetensors

Needs torch and safetensors; the program is QKV, or `qkv` on the PATH. It knows models that attend
within the sequence of the task pairs: any number of layers and heads, with or without feed-forward,
layer norm, learned positions and biases.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

QKV = os.environ.get("QKV", "qkv")


def qkv(*args):
    return subprocess.run([QKV, *args], check=True, capture_output=True, text=True).stdout


class Model(nn.Module):
    """Holds the tensors under the names that they have in a checkpoint."""

    def __init__(self, config, tensors):
        super().__init__()
        self.config = config
        self.names = [n for n in tensors if not n.startswith(("optimizer.", "state."))]
        self.weights = nn.ParameterList(nn.Parameter(tensors[n].clone()) for n in self.names)

    def get(self, name):
        return self.weights[self.names.index(name)] if name in self.names else None

    def linear(self, x, weight, bias):
        y = x @ self.get(weight)
        return y if self.get(bias) is None else y + self.get(bias)

    def norm(self, x, name):
        if self.config["norm"] == "none":
            return x
        return F.layer_norm(x, x.shape[-1:], self.get(name + ".gain"), self.get(name + ".bias"))

    def attention(self, x, name):
        B, T, _ = x.shape
        H = self.config["heads"]
        q, k, v = (self.linear(x, f"{name}.w{r}", f"{name}.b{r}").view(B, T, H, -1).transpose(1, 2)
                   for r in "qkv")
        scores = q @ k.transpose(2, 3) / self.config["d_k"] ** 0.5
        seen = torch.ones(T, T).tril().bool()  # a position sees those before it, and itself
        self.looked = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        mixed = (self.looked @ v).transpose(1, 2).reshape(B, T, -1)
        return self.linear(mixed, f"{name}.wo", f"{name}.bo")

    def feed_forward(self, x, name):
        act = {"relu": F.relu, "gelu": F.gelu}[self.config["activation"]]
        up = act(self.linear(x, name + ".up.w", name + ".up.b"))
        return self.linear(up, name + ".down.w", name + ".down.b")

    def forward(self, keys, values):
        """The logits of the last position, where the question stands: [B, values]."""
        x = self.get("embed.key")[keys] + self.get("embed.value")[values]
        if self.get("embed.position") is not None:
            x = x + self.get("embed.position")
        for i in range(self.config["layers"]):
            x = x + self.attention(self.norm(x, f"layer{i}.norm1"), f"layer{i}.attn")
            if self.config["d_ff"]:
                x = x + self.feed_forward(self.norm(x, f"layer{i}.norm2"), f"layer{i}.mlp")
        return self.norm(x[:, -1], "norm") @ self.get("unembed.value")


KNOWN = {"task": ["pairs"], "block": ["transformer"], "arch": ["task"], "mask": ["task"],
         "tie": ["none"], "scale": ["sqrt"], "positions": ["none", "learned"], "latent": [0],
         "norm": ["none", "layer"], "activation": ["relu", "gelu"], "readout": ["full"],
         "wq": [True], "wk": [True], "wv": [True], "wo": [True], "self": [True], "residual": [True],
         "post_norm": [False], "token_shift": [False], "tie_unembedding": [False], "scores_from": [0]}


def load(run):
    """The module of a run's newest checkpoint."""
    newest = max(n for n in os.listdir(run) if n.startswith("step-"))
    with safe_open(os.path.join(run, newest), "pt") as f:
        config = json.loads(f.metadata()["config"])
        tensors = {name: f.get_tensor(name) for name in f.keys()}
    for name, values in KNOWN.items():
        if config[name] not in values:
            sys.exit(f"pytorch.py does not know --{name.replace('_', '-')} {config[name]}")
    if config["kv_heads"] != config["heads"]:
        sys.exit("pytorch.py does not know --kv-heads")
    return Model(config, tensors)


def examples(config, split, n):
    """Keys, values and the right answers of held-out examples, as qkv draws them."""
    lines = qkv("data", "pairs", "--json", "--n", str(n), "--split", split, "--seed", str(config["seed"]),
                *(f"--{o}={config[o]}" for o in ("pairs", "keys", "values"))).splitlines()
    rows = [json.loads(line) for line in lines]
    keys, values = ([s["ids"] for r in rows for s in r["sequence"] if s["stream"] == name]
                    for name in ("key", "value"))
    return (torch.tensor(keys), torch.tensor(values),
            torch.tensor([r["readouts"][0]["targets"][-1] for r in rows]))


def exported(run, kind, name):
    """A matrix that qkv export writes of test example 0."""
    with tempfile.TemporaryDirectory() as there:
        qkv("export", run, "--npy", there, "--force")
        import numpy
        return torch.from_numpy(numpy.load(os.path.join(there, kind, name + ".npy")))


def main():
    run = sys.argv[1]
    model = load(run)
    keys, values, answers = examples(model.config, "test", 2000)
    with torch.no_grad():
        logits = model(keys, values)
        one = model(keys[:1], values[:1])
    difference = (one - exported(run, "logits", "value")).abs().max().item()
    looked = model.looked[0, 0, -1] - exported(
        run, "attention", f"layer{model.config['layers'] - 1}.attn.head0")[-1]
    eval_ = json.loads(qkv("eval", run, "--json", "--examples", "2000"))
    loss = F.cross_entropy(logits, answers).item()
    accuracy = (logits.argmax(1) == answers).double().mean().item()
    print(f"logits differ by {difference:.2e} at most, attention by {looked.abs().max().item():.2e}")
    print(f"loss {loss:.7f} here, {eval_['loss']:.7f} there; accuracy {accuracy:.4f}, {eval_['accuracy']:.4f}")
    if difference > 1e-4 or looked.abs().max() > 1e-5 or abs(loss - eval_["loss"]) > 1e-5 or \
            abs(accuracy - eval_["accuracy"]) > 1e-3:
        sys.exit("they differ by more than rounding")
    if len(sys.argv) < 3:
        return
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(keys, values), answers).backward()
        optimizer.step()
    save_file({n: w.detach() for n, w in zip(model.names, model.weights)}, sys.argv[2])
    with torch.no_grad():
        here = F.cross_entropy(model(keys, values), answers).item()
    there = json.loads(qkv("eval", run, "--json", "--examples", "2000", "--weights", sys.argv[2]))["loss"]
    print(f"written: loss {here:.7f} here, {there:.7f} there")
    if abs(here - there) > 1e-5:
        sys.exit("what was written is another model")


if __name__ == "__main__":
    main()
