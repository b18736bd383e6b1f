"""definitions.py - every op a third time: with as many digits as needed.

ELEMENTWISE: functions of one number and their slopes, and of two. COMPOSED: what is made of sums and products,
over lists of Numbers in row-major order; each takes the inputs as (numbers, shape) and the node's description,
and returns numbers. An op that is in neither fails the run.
"""
import itertools
import math

from mpmath import cos, erfc, exp, log, mpf, npdf, pi, sin, sqrt, tanh

from number import (Number, constant, exponential, hyperbolic_tangent,  # sets the digits, first
                    logarithm_of_1_plus, root, total)

# ---- of one number: (value, slope, and both at -infinity and infinity) ----

INF = mpf("inf")
A = 2 * sqrt(2 / pi)


def logistic(x):
    return 1 / (1 + exp(-x))


def sech_squared(x):
    t = exp(-2 * abs(x))
    return 4 * t / (1 + t) ** 2


def gate_slope(x, w, w_slope):
    return logistic(w) * (1 + x * w_slope * logistic(-w))


def tanh_w(x):
    return A * (x + mpf("0.044715") * x**3)


def below(x, least, function):
    """function(x), and its limit 0 from -least on, where e^x would take an age."""
    return function(x) if x > -least else mpf(0)


def gelu(x, node):
    if node["form"] == "tanh":
        return below(x, 1000, lambda v: v * logistic(tanh_w(v)) if v < 1000 else v)
    return below(x, 1000, lambda v: v * erfc(-v / sqrt(2)) / 2 if v < 1000 else v)


def gelu_slope(x, node):
    if abs(x) > 1000:
        return mpf(x > 0)
    if node["form"] == "tanh":
        return gate_slope(x, tanh_w(x), A * (1 + 3 * mpf("0.044715") * x * x))
    return erfc(-x / sqrt(2)) / 2 + x * npdf(x)


def far(x):
    return max(min(x, mpf(20000)), mpf(-20000))


UNARY = {
    "neg": (lambda x, n: -x, lambda x, n: mpf(-1)),
    "scale": (lambda x, n: n["factor"] * x, lambda x, n: n["factor"]),
    "exp": (lambda x, n: exp(far(x)), lambda x, n: exp(far(x))),
    "log": (lambda x, n: log(x) if x > 0 else (-INF if x == 0 else mpf("nan")),
            lambda x, n: INF if x == 0 else 1 / x),
    "sqrt": (lambda x, n: sqrt(x) if x >= 0 else mpf("nan"),
             lambda x, n: INF if x == 0 else 1 / (2 * sqrt(x)) if x > 0 else mpf("nan")),
    "tanh": (lambda x, n: tanh(far(x)), lambda x, n: sech_squared(far(x))),
    "sigmoid": (lambda x, n: logistic(far(x)), lambda x, n: sech_squared(far(x) / 2) / 4),
    "relu": (lambda x, n: max(x, mpf(0)), lambda x, n: mpf(x > 0)),
    "gelu": (gelu, gelu_slope),
    "silu": (lambda x, n: below(x, 20000, lambda v: v * logistic(far(v))),
             lambda x, n: gate_slope(far(x), far(x), 1)),
    "dropout": (lambda x, n: x * n["kept"], lambda x, n: n["kept"]),
}
# value and slope at -infinity, then at infinity; an op that is not here is not asked there
AT_INFINITY = {
    "exp": (0, 0, INF, INF), "log": (None, None, INF, 0), "sqrt": (None, None, INF, 0), "tanh": (-1, 0, 1, 0),
    "sigmoid": (0, 0, 1, 0), "relu": (0, 0, INF, 1), "gelu": (0, 0, INF, 1), "silu": (0, 0, INF, 1),
    "neg": (INF, -1, -INF, -1),
}
PAIRS = {
    "add": (lambda a, b: a + b, lambda a, b: mpf(1), lambda a, b: mpf(1)),
    "sub": (lambda a, b: a - b, lambda a, b: mpf(1), lambda a, b: mpf(-1)),
    "mul": (lambda a, b: a * b, lambda a, b: b, lambda a, b: a),
    "div": (lambda a, b: a / b, lambda a, b: 1 / b, lambda a, b: -a / b**2),
}

# ---- what is made of sums and products ----


def strides(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def indices(shape):
    return itertools.product(*(range(d) for d in shape))


def at(shape, index):
    return sum(i * s for i, s in zip(index, strides(shape)))


def rows(x, width):
    return [x[i:i + width] for i in range(0, len(x), width)] if width else []


def gone(shape, axes):
    return sorted(a % len(shape) for a in axes) if axes else list(range(len(shape)))


def reduced(inputs, node, join):
    x, shape = inputs[0]
    axes = gone(shape, node["axes"])
    kept = [i for i in range(len(shape)) if i not in axes]
    groups = {key: [] for key in indices([shape[i] for i in kept])}
    for k, index in enumerate(indices(shape)):
        groups[tuple(index[i] for i in kept)].append(x[k])
    return [join(group) for group in groups.values()]


def first_greatest(group):
    best = group[0]
    for x in group:
        if x.v > best.v:
            best = x
    return best


def mean(group):
    return total(group) * constant(mpf(1) / len(group))


def product(a, b, bias=None):
    return total([x * y for x, y in zip(a, b)] + ([bias] if bias else []))


def matmul(inputs, node):
    (a, sa), (b, sb) = inputs
    y, (M, K, N) = node["shape"], (sa[-2], sa[-1], sb[-1])
    out = []
    for lead in indices(y[:-2]):
        ia = at(sa[:-2], [i if d != 1 else 0 for i, d in zip(lead[len(lead) - len(sa) + 2:], sa[:-2])]) * M * K
        ib = at(sb[:-2], [i if d != 1 else 0 for i, d in zip(lead[len(lead) - len(sb) + 2:], sb[:-2])]) * K * N
        for m in range(M):
            for n in range(N):
                out.append(product(a[ia + m * K: ia + m * K + K], b[ib + n: ib + K * N: N]))
    return out


def linear(inputs, node):
    (x, shape), (w, (I, O)) = inputs[:2]
    bias = inputs[2][0] if len(inputs) > 2 else [None] * O
    each = rows(x, I) if I else [[]] * math.prod(shape[:-1])
    return [product(row, w[o::O], bias[o]) for row in each for o in range(O)]


def permute(inputs, node):
    x, shape = inputs[0]
    axes = [a % len(shape) for a in node["axes"]]
    out = []
    for index in indices(node["shape"]):
        source = [0] * len(shape)
        for i, axis in zip(index, axes):
            source[axis] = i
        out.append(x[at(shape, source)])
    return out


def cut(inputs, node):
    x, shape = inputs[0]
    axis, begin = node["axis"], node["begin"]
    axis %= len(shape)
    begin += shape[axis] * (begin < 0)
    return [x[at(shape, [i + begin * (k == axis) for k, i in enumerate(index)])] for index in indices(node["shape"])]


def concat(inputs, node):
    axis = node["axis"] % len(node["shape"])
    out = []
    for lead in indices(node["shape"][:axis]):
        for x, shape in inputs:
            block = math.prod(shape[axis:])
            begin = at(shape[:axis], lead) * block
            out += x[begin: begin + block]
    return out


def embedding(inputs, node):
    width = node["shape"][-1]
    out = []
    of = node["shape"][:-1]
    for n in range(math.prod(of)):
        found = []
        for (table, _), ids in zip(inputs, node["ids"]):
            row = ids[n] if ids is not None else n % (of[-1] if of else 1)
            if row >= 0:
                found.append(table[row * width:(row + 1) * width])
        out += [total([row[d] for row in found]) if found else constant(0) for d in range(width)]
    return out


def gather(inputs, node):
    x, shape = inputs[0]
    table = rows(x, shape[-1])
    return [v for row in node["rows"] for v in (table[row] if row >= 0 else [constant(0)] * shape[-1])]


def layer_norm(inputs, node):
    (x, shape), (gain, _), (bias, _) = inputs
    out = []
    for row in rows(x, shape[-1]):
        middle = mean(row)
        off = [v - middle for v in row]
        size = root(mean([v * v for v in off]) + constant(mpf(node["eps"])))
        out += [v / size * g + b for v, g, b in zip(off, gain, bias)]
    return out


def rms_norm(inputs, node):
    (x, shape), (gain, _) = inputs
    out = []
    for row in rows(x, shape[-1]):
        size = root(mean([v * v for v in row]) + constant(mpf(node["eps"])))
        out += [v / size * g for v, g in zip(row, gain)]
    return out


def rope(inputs, node):
    x, shape = inputs[0]
    width = shape[-1] // node["heads"]
    out = []
    for r, row in enumerate(rows(x, shape[-1])):
        t = node["first"] + r % shape[-2]
        if node["places"]:
            t = node["places"][r // (len(x) // shape[-1] // shape[0])][r % shape[-2]]
        for e in range(0, shape[-1], 2):
            angle = t * mpf(node["base"]) ** (-mpf(e % width) / width)
            c, s = cos(angle), sin(angle)
            error = abs(angle) * node["double"]  # of the angle, which is computed in double
            c, s = Number(c, 5 * abs(s) * error), Number(s, 5 * abs(c) * error)
            out += [row[e] * c - row[e + 1] * s, row[e] * s + row[e + 1] * c]
    return out


def place(mask, b, t):
    return mask[3][b][t] if isinstance(mask[3], list) else mask[3] + t


def seen(mask, b, t, S):
    causal, no_self, memory, _, *length = mask
    t = place(mask, b, t)
    return [s for s in range(length[b] if length else S)
            if not (causal and s > t or no_self and s == t or memory and s >= memory)]


def scores(inputs, node):
    (q, (B, T, W)), (k, (_, S, V)) = inputs
    H, factor = node["heads"], constant(mpf(node["factor"]))
    E = W // H
    share = H // (V // E)
    out = []
    for b, h, t in indices((B, H, T)):
        row = [constant(0)] * S
        for s in seen(node["mask"], b, t, S):
            query, key = (b * T + t) * W + h * E, (b * S + s) * V + h // share * E
            row[s] = factor * product(q[query:query + E], k[key:key + E])
        out += row
    return out


def powers(row, flush):
    """The greatest, e^(x - greatest) of each, and the sum of all but the greatest's own 1."""
    top = max(range(len(row)), key=lambda i: row[i].v)
    e = [exponential(x - row[top], flush) if i != top else constant(1) for i, x in enumerate(row)]
    return top, e, total([x for i, x in enumerate(e) if i != top])


def softmax(inputs, node):
    x, shape = inputs[0]
    T = shape[-2] if len(shape) > 1 else 1
    out = []
    for r, row in enumerate(rows(x, shape[-1])):
        visible = seen(node["mask"], r // max(1, len(x) // shape[-1] // shape[0]), r % T, shape[-1])
        weights = [constant(0)] * shape[-1]
        if visible:  # y (dy - sum of y dy): a weight near 1 is known to the last place of 1
            top = max((row[s] for s in visible), key=lambda x: x.v)
            e = [exponential(row[s] - top, node["flush"]) for s in visible]
            sum_of_all = total(e)
            for s, power in zip(visible, e):
                weights[s] = power / sum_of_all
        out += weights
    return out


def softmax_one(inputs, node):
    x, shape = inputs[0]
    T = shape[-2] if len(shape) > 1 else 1
    out = []
    for r, row in enumerate(rows(x, shape[-1])):
        visible = seen(node["mask"], r // max(1, len(x) // shape[-1] // shape[0]), r % T, shape[-1])
        weights = [constant(0)] * shape[-1]
        top = max([row[s] for s in visible] + [constant(0)], key=lambda x: x.v)
        e = [exponential(row[s] - top, node["flush"]) for s in visible]
        sum_of_all = total(e + [exponential(constant(0) - top, node["flush"])])
        for s, power in zip(visible, e):
            weights[s] = power / sum_of_all
        out += weights
    return out


def alibi(inputs, node):
    x, (B, H, T, S) = inputs[0]
    out = []
    for r, (b, h, t) in enumerate(indices((B, H, T))):
        slope = mpf(2) ** (-mpf(8) * (h + 1) / H)
        row = [constant(0)] * S
        for s in seen(node["mask"], b, t, S):
            row[s] = x[r * S + s] - constant(slope) * constant(mpf(abs(place(node["mask"], b, t) - s)))
        out += row
    return out


def soft_cap(inputs, node):
    cap = mpf(node["cap"])
    return [constant(cap) * hyperbolic_tangent(x * constant(1 / cap)) for x in inputs[0][0]]


def label_smoothing(inputs, node):
    x, shape = inputs[0]
    terms = []
    for row, target in zip(rows(x, shape[-1]), node["targets"]):
        if target >= 0:
            terms.append(row[target] - mean(row))
    scored = sum(t >= 0 for t in node["targets"])
    weight = mpf(node["weight"]) if node["weight"] is not None else mpf(1) / max(1, scored)
    return [total(terms + [constant(0)]) * constant(mpf(node["p"]) * weight if scored else 0)]


def log_softmax(inputs, node):
    x, shape = inputs[0]
    out = []
    for row in rows(x, shape[-1]):
        top, _, others = powers(row, node["flush"])
        log_sum = logarithm_of_1_plus(others)
        out += [-log_sum if i == top else (v - row[top]) - log_sum for i, v in enumerate(row)]
    return out


def mix(inputs, node):
    (w, (B, H, T, S)), (v, (_, _, V)) = inputs
    E = V // node["kv_heads"]
    share = H // node["kv_heads"]
    out = []
    for b, t, h in indices((B, T, H)):
        row = w[((b * H + h) * T + t) * S:][:S]
        for e in range(E):
            out.append(total([row[s] * v[(b * S + s) * V + h // share * E + e]
                              for s in seen(node["mask"], b, t, S)] + [constant(0)]))
    return out


def cross_entropy(inputs, node):
    x, shape = inputs[0]
    losses = []
    for row, target in zip(rows(x, shape[-1]), node["targets"]):
        if target >= 0:
            top, _, others = powers(row, node["flush"])
            if target != top:
                losses.append(row[top] - row[target])
            losses.append(logarithm_of_1_plus(others))
    scored = sum(t >= 0 for t in node["targets"])
    weight = node["weight"] if node["weight"] is not None else mpf(1) / max(1, scored)
    return [total(losses) * constant(weight if scored else 0)]


def squared_error(inputs, node):
    (a, _), (b, _) = inputs
    weight = node["weight"] if node["weight"] is not None else mpf(1) / max(1, len(a))
    off = [x - y for x, y in zip(a, b)]
    return [total([d * d for d in off]) * constant(weight)]


COMPOSED = {
    "stop_gradient": lambda inputs, node: [Number(x.v, x.m) for x in inputs[0][0]],
    "matmul": matmul, "linear": linear, "permute": permute, "slice": cut, "concat": concat,
    "reshape": lambda inputs, node: inputs[0][0], "embedding": embedding, "gather": gather,
    "sum": lambda inputs, node: reduced(inputs, node, total),
    "mean": lambda inputs, node: reduced(inputs, node, mean),
    "max": lambda inputs, node: reduced(inputs, node, first_greatest),
    "layer_norm": layer_norm, "rms_norm": rms_norm, "rope": rope, "scores": scores, "softmax": softmax,
    "softmax_one": softmax_one, "log_softmax": log_softmax, "alibi": alibi, "soft_cap": soft_cap, "mix": mix,
    "cross_entropy": cross_entropy, "label_smoothing": label_smoothing, "squared_error": squared_error,
}
