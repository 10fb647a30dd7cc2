"""The constants of rsqrt in kernels/math/roots.h.

Half of a number's bits, subtracted from a constant, are those of its root's reciprocal, y, to some per cent: the constant is
the one for which e = 1 - x y^2 is least. q(e) = 1 / sqrt(1 - e) improves y; its coefficients are those of the polynomial of
least largest relative error on that range, by Remez's algorithm.
"""
import math
import struct


def bits(x, kind, unsigned):
    return struct.unpack(unsigned, struct.pack(kind, x))[0]


def number(u, kind, unsigned):
    return struct.unpack(kind, struct.pack(unsigned, u))[0]


def errors(constant, kind, unsigned):
    """The least and the greatest e of the numbers from 1 to 4; others differ from these by powers of 4."""
    found = []
    for i in range(4000):
        x = number(bits(1 + 3 * i / 4000, kind, unsigned), kind, unsigned)
        y = number(constant - (bits(x, kind, unsigned) >> 1), kind, unsigned)
        found.append(1 - x * y * y)
    return min(found), max(found)


def solved(rows, values):
    rows = [row + [value] for row, value in zip(rows, values)]
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def remez(low, high, degree, rounds=20, steps=20000):
    """Coefficients, and the largest of |q(e) sqrt(1 - e) - 1|."""
    n = degree + 2
    points = [(low + high) / 2 - (high - low) / 2 * math.cos(math.pi * i / (n - 1)) for i in range(n)]
    grid = [low + (high - low) * i / steps for i in range(steps + 1)]
    for _ in range(rounds):
        rows = [[p**k * math.sqrt(1 - p) for k in range(degree + 1)] + [(-1.0) ** i] for i, p in enumerate(points)]
        q = solved(rows, [1.0] * n)[:-1]
        error = [sum(c * e**k for k, c in enumerate(q)) * math.sqrt(1 - e) - 1 for e in grid]
        turns = [0, *(i for i in range(1, steps) if (error[i] - error[i - 1]) * (error[i + 1] - error[i]) <= 0), steps]
        chosen = []  # of neighbours with one sign the largest
        for i in turns:
            if chosen and (error[i] > 0) == (error[chosen[-1]] > 0):
                if abs(error[i]) > abs(error[chosen[-1]]):
                    chosen[-1] = i
            else:
                chosen.append(i)
        if len(chosen) != n:
            break
        points = [grid[i] for i in chosen]
    return q, max(map(abs, error))


for kind, unsigned, candidates, degree in [
    ("<f", "<I", range(0x5F370000, 0x5F380000, 0x100), 2),
    ("<d", "<Q", range(0x5FE6E80000000000, 0x5FE6EC0000000000, 0x1000000000), 3),
]:
    largest, constant = min((max(map(abs, errors(c, kind, unsigned))), c) for c in candidates)
    low, high = errors(constant, kind, unsigned)
    coefficients, error = remez(low, high, degree)
    print(f"{constant:#x}: |e| up to {largest:.4f}; {[c.hex() for c in coefficients]}, to 2^{math.log2(error):.1f}")
