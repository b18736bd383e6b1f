"""What qkv patch reports, computed again by numpy from what qkv export and qkv data wrote.

    patching.py WEIGHTS DATA HEADS CLEAN OTHER <report.json

WEIGHTS: the directory of the parameters' .npy; DATA: lines of qkv data --json, the examples of the test split.
For causal models without norms and feed-forward. Prints the rows in which clean and other have the logits at the
position asked; fails where a number differs.
"""
import glob
import json
import os
import sys

import numpy as np

weights, data, heads, clean, other = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
w = {os.path.basename(f)[:-4]: np.load(f).astype(float) for f in glob.glob(weights + "/*.npy")}
examples = [json.loads(line) for line in open(data) if line.startswith("{")]
report = json.load(sys.stdin)
layers = sum(name.endswith("attn.wq") for name in w)
unembed = w["unembed." + examples[0]["readouts"][0]["readout"]]
width = {"q": w["layer0.attn.wq"].shape[1] // heads, "v": w["layer0.attn.wo"].shape[0] // heads}
width["k"] = width["q"]
group = heads // (w["layer0.attn.wk"].shape[1] // width["k"])  # heads that share keys and values


def embed(e):
    x = sum(w["embed." + s["stream"]][np.maximum(s["ids"], 0)] * (np.array(s["ids"]) >= 0)[:, None]
            for s in e["sequence"])
    return x + w["embed.position"] if "embed.position" in w else x


def columns(role, h):
    h = h if role == "q" else h // group
    return slice(h * width[role], (h + 1) * width[role])


def part(x, role, h):
    return x[:, columns(role, h)]


def run(e, stream=None, mix=None, read=None):
    """Streams, mixes, queries, keys and values; each function may change what it is given: (layer, x) or
    (layer, role, x)."""
    streams, mixes, reads = [], [], []
    x = embed(e)
    for layer in range(layers + 1):
        x = stream(layer, x.copy()) if stream else x
        streams.append(x)
        if layer == layers:
            break
        q, k, v = (x @ w[f"layer{layer}.attn.w{role}"] for role in "qkv")
        q, k, v = (read(layer, role, y) if read else y for role, y in zip("qkv", (q, k, v)))
        reads.append({"q": q, "k": k, "v": v})
        seen = np.tril(np.ones((len(x), len(x)))) > 0
        m = []
        for h in range(heads):
            s = np.where(seen, part(q, "q", h) @ part(k, "k", h).T / np.sqrt(width["k"]), -np.inf)
            a = np.exp(s - s.max(1, keepdims=True))
            m.append(a / a.sum(1, keepdims=True) @ part(v, "v", h))
        m = np.concatenate(m, 1)
        m = mix(layer, m) if mix else m
        mixes.append(m)
        x = x + m @ w[f"layer{layer}.attn.wo"]
    return streams, mixes, reads


a, b = (np.array(examples[i]["readouts"][0]["targets"]) for i in (clean, other))
at = max(t for t in range(len(a)) if a[t] >= 0 and b[t] >= 0 and a[t] != b[t])
assert report["position"] == at, (report["position"], at)
length = [max(max(np.nonzero(np.array(s["ids"]) >= 0)[0]) for s in examples[i]["sequence"]) + 1
          for i in (clean, other)]
T = min(length)


def difference(streams):
    logits = streams[-1][at] @ unembed
    return logits[a[at]] - logits[b[at]]


streams, mixes, reads = run(examples[clean])
others, other_mixes, other_reads = run(examples[other])
d_clean, d_other = difference(streams), difference(others)
compared = 0


def same(got, want):
    global compared
    compared += 1
    assert abs(got - want) < 2e-4 * (1 + abs(want)), (got, want)


def recovered(**change):
    return (difference(run(examples[other], **change)[0]) - d_other) / (d_clean - d_other)


def put(x, rows, cols, source, part=1):
    x = x.copy()
    x[rows, cols] += part * (source - x)[rows, cols]
    return x


def slope(change):
    """What change(part) recovers for a small part of the way: attribution is its first-order term."""
    return (recovered(**change(1e-4)) - recovered(**change(-1e-4))) / 2e-4


def both(change, exact, linear):
    same(exact, recovered(**change(1)))
    same(linear, slope(change))


same(report["clean"], d_clean)
same(report["other"], d_other)
for layer in range(layers + 1):
    assert len(report["stream"][layer]) == T
    for t in range(T):
        both(lambda part: {"stream": lambda l, x: put(x, slice(t, t + 1), slice(None), streams[l], part)
                           if l == layer else x},
             report["stream"][layer][t], report["stream_attribution"][layer][t])
for head in report["heads"]:
    layer, h = int(head["site"][5]), head["head"]

    def of_role(role, rows, part):
        cols = columns(role, h)
        return {"read": lambda l, r, x: put(x, rows, cols, reads[l][r], part) if (l, r) == (layer, role) else x}

    def of_result(rows, part):
        cols = slice(h * width["v"], (h + 1) * width["v"])
        return {"mix": lambda l, m: put(m, rows, cols, mixes[l], part) if l == layer else m}

    for role, of in [(None, head)] + [(role, head[role]) for role in "qkv"]:
        assert len(of["at"]) == len(of["attribution_at"]) == T
        for rows, exact, linear in [(slice(T), of["recovered"], of["attribution"])] + [
                (slice(t, t + 1), of["at"][t], of["attribution_at"][t]) for t in range(T)]:
            both(lambda part: of_role(role, rows, part) if role else of_result(rows, part), exact, linear)
for name in ("q", "k", "v", "result"):
    exact, linear = (np.concatenate([(h if name == "result" else h[name])[key] for h in report["heads"]])
                     for key in ("at", "attribution_at"))
    same(report["agreement"][name]["correlation"], np.corrcoef(exact, linear)[0, 1])
    same(report["agreement"][name]["seen"], exact @ linear / (exact @ exact))
    assert len(report["agreement"][name]["wrong_sign"]) == sum((abs(exact) > 0.01) & (exact * linear < 0))
# one head's queries, keys and values at once are all that its result is made of
if len(a) == T:
    everything = recovered(read=lambda l, r, x: reads[l][r] if l == layers - 1 else x)
    same(everything, recovered(mix=lambda l, m: mixes[l] if l == layers - 1 else m))
for path in report["paths"]:
    l, h, l2, h2, role = int(path["from"][5]), path["from_head"], int(path["to"][5]), path["to_head"], path["through"]
    written = slice(h * width["v"], (h + 1) * width["v"])
    delta = (mixes[l] - other_mixes[l])[:T, written] @ w[f"layer{l}.attn.wo"][written]

    def read(layer, r, x):
        if (layer, r) != (l2, role):
            return x
        x, cols = x.copy(), columns(role, h2)
        x[:T, cols] += (delta @ w[f"layer{l2}.attn.w{role}"])[:, cols]
        return x

    same(path["recovered"], recovered(read=read))
assert report["paths"] and compared > 20
print(sum(a[:at] >= 0), sum(b[:at] >= 0))
