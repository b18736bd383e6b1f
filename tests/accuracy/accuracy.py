#!/usr/bin/env python3
"""Values and gradients of every op against mpmath.

    accuracy.py PROGRAM... [--elements N] [--seed S] [--table FILE] [--control]

Each PROGRAM (values.c, for float and for double) writes cases down; here they are computed again with 50
digits. An elementwise op is tried over the whole range of numbers and may be off by LIMIT units of the last
place of the exact result, subnormal ones included. For the others the unit is what one rounding an operation
can amount to (number.py). Fails if one is off by more, and when an op of the catalogue was never tried.
--table writes the worst of each op into FILE, between its two marks. --control has PROGRAM spoil a number in
half of the cases, and succeeds only if those are found to be wrong, and only those.
"""
import argparse
import array
import json
import math
import subprocess
import sys

from mpmath import frexp, isinf, isnan, ldexp, mpf

from definitions import AT_INFINITY, COMPOSED, PAIRS, UNARY
from number import Number, gradient

LIMIT = 4  # units of the last place, elementwise
ROUNDINGS = 4  # roundings an operation, all others
FORMATS = {4: ("float", 24, -126, 128), 8: ("double", 53, -1022, 1024)}


class Format:
    def __init__(self, size):
        self.name, self.digits, self.least, self.most = FORMATS[size]
        self.code = "f" if size == 4 else "d"
        self.tiny = ldexp(mpf(1), self.least - self.digits + 1)
        self.normal = ldexp(mpf(1), self.least)
        self.unit = ldexp(mpf(1), -self.digits)
        self.overflow = ldexp(2 - self.unit, self.most - 1)  # from here on it rounds to infinity

    def ulps(self, got, exact):
        """How far `got` is off, in units of the last place of the exact number."""
        if exact is None:
            return 0
        if isnan(exact) or math.isnan(got):
            return 0 if isnan(exact) and math.isnan(got) else math.inf
        if isinf(exact):
            return 0 if got == exact else math.inf
        if math.isinf(got):
            near = abs(exact) > self.overflow * (1 - 8 * self.unit) and (got > 0) == (exact > 0)
            return 0 if abs(exact) >= self.overflow and near else 4 if near else math.inf
        place = max(frexp(exact)[1] - self.digits, self.least - self.digits + 1) if exact else self.least
        off = abs(mpf(got) - exact)
        return float(off / ldexp(mpf(1), place)) if exact else float(off / self.tiny)


class Numbers:
    """What follows a case's line, handed out tensor by tensor."""

    def __init__(self, stream, code, count):
        self.all, self.at = array.array(code), 0
        self.all.frombytes(stream.read(count * self.all.itemsize))

    def next(self, shape):
        begin, self.at = self.at, self.at + math.prod(shape)
        return self.all[begin:self.at]


# ---- one case: yields (which number, how far it is off, where) ----


def unary(op, node, value, slope, x, y, dx):
    function, derivative = UNARY[op]
    for a, got, got_slope in zip(x, y, dx):
        if math.isnan(a):
            yield "value", value(got, mpf("nan")), a
        elif math.isinf(a):
            at_minus, slope_minus, at_plus, slope_plus = AT_INFINITY.get(op, (None,) * 4)
            exact, exact_slope = (at_plus, slope_plus) if a > 0 else (at_minus, slope_minus)
            yield "value", value(got, None if exact is None else mpf(exact)), a
            yield "gradient", slope(got_slope, None if exact_slope is None else mpf(exact_slope)), a
        else:
            yield "value", value(got, function(mpf(a), node)), a
            if a != 0 or op not in ("log", "sqrt") or math.copysign(1, a) > 0:  # not of -0
                yield "gradient", slope(got_slope, derivative(mpf(a), node)), a


def pair(op, ulps, a, b, y, gradients):
    function, slope_a, slope_b = PAIRS[op]
    for i, (x, z) in enumerate(zip(a, b)):
        if op == "div" and z == 0:
            continue
        exact = mpf(x), mpf(z)
        where = f"({x:.9g}, {z:.9g})"
        yield "value", ulps(y[i], function(*exact)), where
        for got, slope in zip(gradients, (slope_a, slope_b)):
            if got is not None:
                yield "gradient", ulps(got[i], slope(*exact)), where


def composed(nodes, root, given, gradients, cotangent, form):
    leaves = {}
    made = []
    about = {"double": ldexp(mpf(1), -53) / form.unit, "flush": form.normal / form.unit}  # in units
    for i, node in enumerate(nodes[:root + 1]):
        if node["op"] == "leaf":
            made.append([Number(mpf(x)) for x in given[i]])
            leaves[i] = made[-1]
        else:
            inputs = [(made[k], nodes[k]["shape"]) for k in node["in"]]
            made.append(evaluate(dict(node, **about), inputs))
    floor = form.tiny * max([1.0, *map(abs, cotangent)])  # to which subnormal numbers are rounded

    def roundings(got, exact, error):
        off = abs(mpf(got) - exact) if math.isfinite(got) else mpf("inf")
        return float(off / (form.unit * (error + abs(exact)) + floor))

    for got, number in zip(given[root], made[root]):
        yield "value", roundings(got, number.v, number.m), ""
    gradient(made[root], [mpf(c) for c in cotangent])
    for i, got in gradients.items():
        for g, number in zip(got, leaves.get(i, ())):
            yield "gradient", roundings(g, number.g, number.a), ""


def evaluate(node, inputs):
    op = node["op"]
    if op in COMPOSED:
        return COMPOSED[op](inputs, node)
    sys.exit(f"accuracy: no definition of '{op}' in definitions.py")


def judge(case, numbers, form):
    nodes, root = case["nodes"], case["root"]
    wants = [i for i, n in enumerate(nodes) if n.get("wants")]
    given = [numbers.next(n["shape"]) for n in nodes]
    gradients = {i: numbers.next(nodes[i]["shape"]) for i in wants}
    node, cotangent = nodes[root], numbers.next(nodes[root]["shape"])
    op = node["op"]
    if not case["wide"]:
        yield from composed(nodes, root, given, gradients, cotangent, form)
        return
    inputs = [given[i] for i in node["in"]]
    twice = len(set(node["in"])) < len(node["in"])  # x + x: the gradients are one
    got = [None if twice else gradients.get(i) for i in node["in"]]
    if op in PAIRS:
        yield from pair(op, form.ulps, *inputs, given[root], got)
        return
    no_gradient = lambda got, exact: 0
    slope = form.ulps if got[0] is not None else no_gradient
    if op == "dropout":  # its factor is the library's own, rounded once
        factor = array.array(form.code, [1 / (1 - node["p"])])[0]
        fell = [factor * k for k in node["kept"]]
        for a, y, dx, kept in zip(inputs[0], given[root], got[0] or given[root], fell):
            if math.isfinite(a):
                yield from unary(op, {"kept": mpf(kept)}, form.ulps, slope, [a], [y], [dx])
            elif kept == 0:
                yield "value", form.ulps(y, mpf(0)), a
        return
    if op == "scale":
        rounded = array.array(form.code, [node["factor"]])[0]
        node = dict(node, factor=mpf(rounded))
    yield from unary(op, node, form.ulps, slope, inputs[0], given[root], got[0] or given[root])


# ---- the run ----


def size_of(case):
    shapes = [math.prod(n["shape"]) for n in case["nodes"]]
    wants = sum(n for n, node in zip(shapes, case["nodes"]) if node.get("wants"))
    return sum(shapes) + wants + shapes[case["root"]]


def run(program, args):
    wide = "," + ",".join([*UNARY, *PAIRS]) + ","
    command = [program, str(args.seed), str(args.elements), wide] + ["spoil"] * args.control + ["plain"] * args.plain
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    head = json.loads(child.stdout.readline())
    form, worst, wrong, spoiled = Format(head["bytes"]), {}, [], set()
    for line in child.stdout:
        case = json.loads(line)
        limit, found = LIMIT if case["wide"] else ROUNDINGS, False
        for what, off, where in judge(case, Numbers(child.stdout, form.code, size_of(case)), form):
            entry = worst.setdefault((case["op"], what), [0, "", 0])
            entry[2] += 1
            found |= not off <= limit
            if not off <= entry[0]:
                entry[:2] = off, where
        if args.control and found != bool(case["spoiled"]):
            sys.exit(f"accuracy: control failed: {case['op']} was {'not ' * (not case['spoiled'])}spoiled")
        if case["spoiled"]:
            spoiled.add(case["op"])
        elif found:
            wrong.append(case["op"])
    if child.wait() != 0:
        sys.exit(f"accuracy: {program} failed")
    never = [op for op in head["ops"] if (op, "value") not in worst or args.control and op not in spoiled]
    if never:
        sys.exit(f"accuracy: never {'spoiled' if args.control else 'tried'}: {', '.join(never)}")
    return form.name, head["ops"], worst, sorted(set(wrong))


def cell(entry, where):
    if entry is None:
        return "-"
    place = f" at {entry[1]:.6g}" if isinstance(entry[1], float) else f" at {entry[1]}" if entry[1] else ""
    return f"{entry[0]:.2f}" + (place if where and entry[0] > 0.5 else "")


def table(results, elements):
    ops = results[0][1]
    yield f"From `make accuracy ELEMENTS={elements}`."
    yield ""
    for title, chosen, where in (("Elementwise: units of the last place", [*UNARY, *PAIRS], True),
                                 ("All others: roundings an operation", list(COMPOSED), False)):
        yield f"| {title} | " + " | ".join(f"{name}, {what}" for name, *_ in results
                                           for what in ("value", "gradient")) + " |"
        yield "| --- |" + " --- |" * (2 * len(results))
        for op in ops:
            if op in chosen:
                yield f"| {op} | " + " | ".join(cell(worst.get((op, what)), where) for _, _, worst, _ in results
                                                for what in ("value", "gradient")) + " |"
        yield ""


def write_table(path, lines):
    begin, end = "<!-- begin: make accuracy -->", "<!-- end -->"
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(begin)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + "\n".join(lines) + end + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description="Values and gradients of every op against mpmath.")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--elements", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--plain", action="store_true", help="by their plain loops: ops that have a fast form, too")
    args = parser.parse_args()
    if args.control:
        args.elements = min(args.elements, 1000)
    results = [run(program, args) for program in args.programs]
    if args.control:
        print("control: every spoiled case was found, and no other")
        return
    lines = list(table(results, args.elements))
    print("\n".join(lines))
    wrong = [f"{op} ({name})" for name, _, _, ops in results for op in ops]
    if wrong:
        sys.exit(f"accuracy: off by more than {LIMIT} units, or {ROUNDINGS} roundings: {', '.join(wrong)}")
    if args.table:
        write_table(args.table, lines)


if __name__ == "__main__":
    main()
