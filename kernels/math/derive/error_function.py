"""The constants of G in kernels/math/error_function.h: erf(x) = 1 - e^G(x) from 0.8 to where erf rounds to 1.

The error of G counts as much as erfc(x), so it is weighted with that. Lawson's algorithm (weighted least squares, the
weights multiplied by the errors) comes near the polynomial of least largest error. The coefficients are rounded one after
the other; each time the others are fitted anew.
"""
from mpmath import mp, mpf, erfc, log, cos, pi, matrix, lu_solve

mp.prec = 160


def rounded(value, bits):
    mantissa, exponent = mp.frexp(value)
    return mp.nint(mantissa * mpf(2) ** bits) * mpf(2) ** (int(exponent) - bits)


def fit(points, values, weights, first, degree, rounds):
    """Coefficients first .. degree, in powers of x."""
    n = degree - first + 1
    rows = [[x ** (first + k) for k in range(n)] for x in points]
    lawson = [mpf(1)] * len(points)
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for row, value, weight, factor in zip(rows, values, weights, lawson):
            scale = factor * weight * weight
            for i in range(n):
                b[i] += scale * row[i] * value
                for j in range(i, n):
                    a[i, j] += scale * row[i] * row[j]
        for i in range(n):
            for j in range(i):
                a[i, j] = a[j, i]
        c = lu_solve(a, b)
        errors = [abs(sum(p * q for p, q in zip(row, c)) - value) * weight
                  for row, value, weight in zip(rows, values, weights)]
        lawson = [factor * error for factor, error in zip(lawson, errors)]
        total = sum(lawson)
        lawson = [factor / total * len(points) for factor in lawson]
    return c, max(errors)


def derive(name, low, high, degree, bits):
    count = 6 * degree
    points = [(low + high) / mpf(2) + (high - low) / mpf(2) * cos(pi * (i + mpf(1) / 2) / count) for i in range(count)]
    weights = [erfc(x) for x in points]
    values = [log(w) for w in weights]
    out = []
    for k in range(degree + 1):
        c, error = fit(points, values, weights, k, degree, 12 if k == 0 else 5)
        if k == 0:
            print(name, "2^%.2f before rounding" % mp.log(error, 2))
        out.append(rounded(c[0], bits))
        values = [value - out[-1] * x ** k for value, x in zip(values, points)]
    print("2^%.2f after" % mp.log(max(abs(v) * w for v, w in zip(values, weights)), 2))
    print(", ".join(float(c).hex() for c in out))


derive("float", mpf(0.8), mpf(3.93), 6, 24)
derive("double", mpf(0.8), mpf(5.93), 18, 53)
