"""number.py - numbers of high precision that know how far rounding may take them, and their gradients.

A Number is the result of one operation on others. Beside its value v it has m, the error that a computation
in floating point makes when every operation rounds once, in units of the unit roundoff and to first order:
what it inherits and what it adds. gradient() walks back from the results as backward passes do, and carries
the same count. So |computed - v| / (u m) says how many such errors there are: of the order of 1 for any sound
order of operations, however much cancels.
"""
from mpmath import exp, log1p, mp, mpf, sqrt, tanh

mp.dps = 50
ZERO = mpf(0)


class Number:
    __slots__ = ("v", "m", "ins", "g", "a")

    def __init__(self, v, m=ZERO, ins=()):
        self.v, self.m, self.ins = v, m, ins  # ins: (number, slope, the slope's own error)
        self.g = self.a = ZERO

    def __neg__(self):
        return Number(-self.v, self.m, ((self, mpf(-1), ZERO),))

    def __add__(self, other):
        return total([self, other])

    def __sub__(self, other):
        v = self.v - other.v
        return Number(v, self.m + other.m + abs(v), ((self, mpf(1), ZERO), (other, mpf(-1), ZERO)))

    def __mul__(self, other):
        a, b = self, other
        v = a.v * b.v
        return Number(v, abs(v) + abs(a.v) * b.m + abs(b.v) * a.m, ((a, b.v, b.m), (b, a.v, a.m)))

    def __truediv__(self, other):
        a, b = self, other
        v, inverse = a.v / b.v, 1 / b.v
        wrong = b.m / abs(b.v)
        m = abs(v) * (1 + wrong) + a.m * abs(inverse)
        slope = -v * inverse
        return Number(v, m, ((a, inverse, abs(inverse) * (1 + wrong)),
                             (b, slope, abs(slope) * (1 + wrong) + m * abs(inverse))))


def constant(x):
    return Number(mpf(x))


def total(numbers):
    """A sum in any order: one rounding a term."""
    return Number(sum((x.v for x in numbers), ZERO), sum((x.m + abs(x.v) for x in numbers), ZERO),
                  tuple((x, mpf(1), ZERO) for x in numbers))


def applied(x, v, slope, slope_error):
    return Number(v, abs(v) + abs(slope) * x.m, ((x, slope, slope_error),))


def exponential(x, flush=ZERO):
    """`flush`: what is lost where a result below the smallest normal number is made 0; of the slope, too."""
    v = exp(x.v)
    return Number(v, v * (1 + x.m) + flush, ((x, v, v * (1 + x.m) + flush),))


def logarithm_of_1_plus(x):
    slope = 1 / (1 + x.v)
    return applied(x, log1p(x.v), slope, slope * (1 + slope * x.m))


def hyperbolic_tangent(x):
    far = max(min(x.v, mpf(20000)), mpf(-20000))
    v, e = tanh(far), exp(-2 * abs(far))
    slope = 4 * e / (1 + e) ** 2
    return applied(x, v, slope, slope * (1 + 2 * abs(v) * x.m))


def root(x):
    v = sqrt(x.v)
    slope = 1 / (2 * v) if v else ZERO
    return applied(x, v, slope, abs(slope) * (2 + (x.m / x.v if x.v else ZERO)))


def gradient(results, cotangents):
    """Adds to g of every number below the results, and to a how far rounding may take it."""
    order, seen, stack = [], set(), [(r, False) for r in results]
    while stack:
        number, done = stack.pop()
        if done:
            order.append(number)
        elif id(number) not in seen:
            seen.add(id(number))
            stack.append((number, True))
            stack.extend((i[0], False) for i in number.ins)
    for result, cotangent in zip(results, cotangents):
        if result.g:  # one number that stands in several places
            result.a += abs(result.g) + abs(cotangent)
        result.g += cotangent
    for number in reversed(order):
        for below, slope, error in number.ins:
            part = slope * number.g
            below.g += part
            below.a += abs(slope) * number.a + error * abs(number.g) + abs(part)

