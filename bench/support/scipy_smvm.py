"""SciPy: reads a matrix, multiplies it by ones and writes the product. Where its bench is the working directory:

    python3 -m support.scipy_smvm MATRIX.npz OWN.npy OTHER.npy    # once a line of its input (processes.WarmProcess)

OTHER.npy, where it is there, has to be the same but for rounding.
"""
import os
import sys

import numpy as np
from scipy import sparse

from support.processes import serve


def main():
    matrix, own, other = sys.argv[1:]

    def multiply():
        a = sparse.load_npz(matrix)
        y = a @ np.ones(a.shape[1])
        np.save(own, y)
        return y

    def compare(y):
        if os.path.exists(other) and not np.allclose(np.load(other), y):
            raise SystemExit(f"{other} is not SciPy's product")

    serve(multiply, compare)


if __name__ == "__main__":
    main()
