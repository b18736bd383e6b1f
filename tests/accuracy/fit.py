#!/usr/bin/env python3
"""fit.py - the polynomials of tensor/exp.h, log.h, normal.h and gate.h, as C tables: computed with 60 digits as
Chebyshev approximations and written in powers of their variable. Needs mpmath."""
import math

from mpmath import chebyfit, erfc, exp, expm1, findroot, log, log1p, mp, mpf, ncdf, npdf, pi, sqrt

mp.dps = 60


def c_table(name, function, interval, float_terms, double_terms):
    """Prints both tables, powers rising, and how far each is off at most."""
    for terms, digits, end in ((double_terms, 17, ''), (float_terms, 9, 'f')):
        rising, error = chebyfit(function, interval, terms, error=True)
        print(f'{name}: {terms} terms, off by {mp.nstr(error, 2)}')
        print('  ' + ', '.join(c_number(c, digits) + end for c in reversed(rising)))


def c_number(x, digits):
    text = mp.nstr(x, digits, min_fixed=-5, max_fixed=5)
    return text if '.' in text or 'e' in text else text + '.0'


def constant(name, x):
    """A number as a float and what it was rounded by, then the same as a double."""
    for bits, digits, end in ((53, 17, ''), (24, 9, 'f')):
        with mp.workprec(bits):
            high = +x
        print(f'{name}: {c_number(high, digits)}{end} {c_number(x - high, digits)}{end}')


def near(function, x, step=mpf(10)**-12):
    """function(x), or the mean of its neighbours around 0, where it is 0/0."""
    return function(x) if abs(x) > step else (function(x + step) + function(x - step)) / 2


# e^r = 1 + r + r^2 P(r)
HALF_LN2 = log(2) / 2 * mpf('1.001')
c_table('exp', lambda r: near(lambda v: (expm1(v) - v) / v**2, r), [-HALF_LN2, HALF_LN2], 5, 10)

# ln(1 + f) = f - f^2/2 + s (f^2/2 + z R(z)), s = f / (2 + f), z = s^2
S = (sqrt(2) - 1) / (sqrt(2) + 1) * mpf('1.001')
c_table('log', lambda z: (2 * mp.atanh(sqrt(z)) / sqrt(z) - 2) / z if z > mpf(10)**-20 else mpf(2) / 3,
        [0, S * S], 4, 7)


def log_table(bits, parts, grid):
    """Of each of the parts of [3/4, 3/2) that the first bits of m in [1, 2) tell apart, m / 2 standing for the upper
    ones: the reciprocal of a c near its middle whose logarithm is nearly a multiple of 2^-grid, and that."""
    reciprocals, logs = [mpf(1)], [mpf(0)]
    for i in range(1, parts - 1):
        middle = (1 + mpf(2 * i + 1) / (2 * parts)) / (2 if 2 * i >= parts else 1)
        with mp.workprec(bits):
            first = 1 / middle * mpf('1.0003')
        last = mpf(2)**(-bits if first < 1 else 1 - bits)  # a unit of its last place
        each, start = float(last / first), float(mp.frac(-log(first) * 2**grid))
        most = min(2**19, int(0.009 / each))

        def off(k):
            at = start - math.log1p(k * each) * 2**grid
            return abs(at - round(at))
        reciprocals.append(first + min(range(-most, most), key=off) * last)
        logs.append(mp.nint(-log(reciprocals[-1]) * 2**grid) / 2**grid)
    digits, end = (9, 'f') if bits == 24 else (17, '')
    for name, column in (('reciprocals', reciprocals), ('logarithms', logs)):
        print(f'log, {name}:\n  ' + ', '.join(c_number(c, digits) + end for c in column + [column[0]]))


# ln(1 + r) = r + r^2 P(r); around 1 r is x - 1.
log_table(24, 32, 17)
log_table(53, 16, 43)
for parts, terms, digits, end in ((32, 4, 9, 'f'), (16, 10, 17, '')):
    rising, error = chebyfit(lambda r: near(lambda v: (log1p(v) - v) / v**2, r),
                             [mpf('-1.05') / (2 * parts), mpf('1.001') / parts], terms, error=True)
    print(f'log in {parts} parts: {terms} terms, off by {mp.nstr(error, 2)}')
    print('  ' + ', '.join(c_number(c, digits) + end for c in reversed(rising)))


# Phi(-a) = e^(-a^2/2) t Q(s), t = 1 / (a + 4), s = 1 - 8 t
def mills(a):
    """e^(a^2/2) Phi(-a)"""
    return exp(a * a / 2) * erfc(a / sqrt(2)) / 2


def normal_a(s):
    return 8 / (1 - s) - 4


for top, terms in ((15, 11), (39, 24)):
    end = 1 - mpf(8) / (top + 4)
    zero = findroot(lambda x: ncdf(x) + x * npdf(x), -0.75)
    for name, function in (
            ('normal', lambda s: (normal_a(s) + 4) * mills(normal_a(s))),
            ('gelu slope', lambda s: (normal_a(s) / sqrt(2 * pi) - mills(normal_a(s))) / (normal_a(s) + zero))):
        n = terms - (1 if name != 'normal' else 0)
        rising, error = chebyfit(function, [-1, end], n, error=True)
        print(f'{name} up to {top}: {n} terms, off by {mp.nstr(error, 2)}')
        print('  ' + ', '.join(c_number(c, 9 if top == 15 else 17) + ('f' if top == 15 else '')
                               for c in reversed(rising)))
constant('gelu zero', zero)

# The slopes of silu and of gelu's tanh form, s (1 + x w' (1 - s)) with s = 1 / (1 + e^-w), are
# (x - zero) G(x - zero) within 1/2 of where they are 0.
A = 2 * sqrt(2 / pi)
B = A * mpf('0.044715')


def silu(x):
    return x, x


def gelu_tanh(x):
    return A * x + B * x**3, A * x + 3 * B * x**3


for name, form, start, terms in (('silu slope', silu, -1.28, (9, 17)), ('gelu tanh slope', gelu_tanh, -0.75, (10, 19))):
    def slope(x):
        w, x_slope = form(x)
        s = 1 / (1 + exp(-w))
        return s * (1 + x_slope * (1 - s))

    zero = findroot(slope, start, tol=mpf(10)**-55)
    c_table(name, lambda d: near(lambda v: slope(zero + v) / v, d), [-mpf(1) / 2, mpf(1) / 2], *terms)
    constant(name + ' zero', zero)
constant('A', A)
constant('B', B)
