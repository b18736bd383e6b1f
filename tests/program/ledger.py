"""ledger.py RUN LEDGER.csv - the ledger of a run in PyTorch, from a checkpoint of every step, compared.

Nothing is shared with train/probe/ledger.c: gradients are autograd's, the integral is Gauss and Legendre's
with eight points, and the ways of the embeddings are told apart by giving each a copy of the tables of its
own. Of one layer of the task pairs, in double. Prints the greatest difference; exits 1 if it is too great.
"""
import csv
import json
import os
import struct
import subprocess
import sys

import numpy
import torch

QKV = os.environ["QKV"]
LEAST_COMPARED = 40


def read(path):
    """The tensors of a safetensors file, by name; and the configuration."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    config = json.loads(header.pop("__metadata__")["config"])
    kinds = {"F64": numpy.float64, "F32": numpy.float32}
    tensors = {n: torch.from_numpy(numpy.frombuffer(data[slice(*h["data_offsets"])], kinds[h["dtype"]])
                                   .reshape(h["shape"]).astype(numpy.float64))
               for n, h in header.items() if h["dtype"] in kinds and not n.startswith(("optimizer.", "state."))}
    return config, tensors


def examples(config, n):
    lines = subprocess.run([QKV, "data", "pairs", "--json", "--n", str(n), "--split", "valid",
                            "--seed", str(config["seed"])], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    ids = {name: torch.tensor([s["ids"] for r in rows for s in r["sequence"] if s["stream"] == name])
           for name in ("key", "value")}
    return ids, torch.tensor([r["readouts"][0]["targets"][-1] for r in rows])


def loss_of(w, tables, ids, answers):
    """tables: those that scores, values and the residual are made from."""
    def embed(way):
        return sum(torch.cat([t, torch.zeros(1, t.shape[1], dtype=t.dtype)])[ids[name]]
                   for name, t in tables[way].items())
    a = "layer0.attn."
    x, d = embed("scores"), w[a + "wq"].shape[1]
    scores = (x[:, -1:] @ w[a + "wq"]) @ (x @ w[a + "wk"]).transpose(1, 2) / d ** 0.5
    mix = scores.softmax(-1) @ (embed("values") @ w[a + "wv"])
    out = embed("past")[:, -1:] + mix @ w[a + "wo"]
    return torch.nn.functional.cross_entropy(out[:, 0] @ w["unembed.value"], answers)


def gradients(theta, ids, answers):
    """The loss, the gradient of each parameter, and of the tables by each way, as NAME:WAY."""
    w = {n: x.clone().requires_grad_() for n, x in theta.items()}
    tables = {way: {n[6:]: theta[n].clone().requires_grad_() for n in theta if n.startswith("embed.")}
              for way in ("scores", "values", "past")}
    loss = loss_of(w, tables, ids, answers)
    loss.backward()
    grads = {n: x.grad for n, x in w.items() if not n.startswith("embed.")}
    for way, of in tables.items():
        for name, x in of.items():
            grads[f"embed.{name}:{way}"] = x.grad
            grads[f"embed.{name}"] = grads.get(f"embed.{name}", 0) + x.grad
    return loss.item(), grads


def parts(before, after, ids, answers):
    out = {}
    at, weight = numpy.polynomial.legendre.leggauss(8)
    for x, h in zip((at + 1) / 2, weight / 2):
        theta = {n: before[n] + x * (after[n] - before[n]) for n in before}
        for name, g in gradients(theta, ids, answers)[1].items():
            step = after[name.split(":")[0]] - before[name.split(":")[0]]
            out[name] = out.get(name, 0) + h * (g * step).sum().item()
    return out


def main():
    torch.set_num_threads(1)
    run, table = sys.argv[1:3]
    rows = list(csv.DictReader(open(table)))
    config, _ = read(f"{run}/step-{int(rows[-1]['next']):08d}.safetensors")
    ids, answers = examples(config, int(sys.argv[3]))
    worst, compared = 0, 0
    for row in rows:
        theta = [read(f"{run}/step-{int(row[k]):08d}.safetensors")[1] for k in ("step", "next")]
        mine = parts(*theta, ids, answers)
        size = sum(abs(x) for n, x in mine.items() if ":" not in n)
        change = gradients(theta[1], ids, answers)[0] - gradients(theta[0], ids, answers)[0]
        for name, x in {**mine, "change": change}.items():
            if name not in row and ":" in name:
                continue
            worst = max(worst, abs(float(row[name]) - x) / size)
            compared += 1
    print(f"{compared} parts, {worst:.2e} of a step's sizes apart at most")
    sys.exit(compared < LEAST_COMPARED or not worst < float(sys.argv[4]))


main()
