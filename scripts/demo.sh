#!/usr/bin/env bash
# Sets up, builds, and does the main job once: multiplies a sparse matrix that is several times larger than the memory
# it may use by a vector, streaming it from disk, and checks the result against a plain loop.
#   scripts/demo.sh [N]     the matrix is a 27-point Laplacian of N^3 rows (default 100: 1,000,000 rows, 322 MB)
set -euo pipefail
cd "$(dirname "$0")/.."

size=${1:-100}
memory=32M
bin=build/release/bin

scripts/setup.sh
echo "Building ... (the first time some ten minutes of processor time)"
log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$log" "$work"' EXIT
{ cmake --preset release && cmake --build --preset release --target anabranch_command check_smvm; } >"$log" 2>&1 ||
  { cat "$log" >&2; exit 1; }

# Runs the command in the working folder, so that its files have short names, and shows what it says.
anabranch() { (cd "$work" && "$OLDPWD/$bin/anabranch" "$@") | sed 's/^/  /'; }

echo "Generate: a 3-D Laplacian with 27 points on a grid of $size^3"
anabranch generate laplacian3d --size "$size" --points 27 --out laplacian.npz
echo "Multiply: with $memory of memory for everything"
anabranch smvm laplacian.npz --memory "$memory" --out y.npy --report r.html
echo "Multiply: again, 20 times, for the speed at steady state"
anabranch smvm laplacian.npz --memory "$memory" --repeat 20 | grep -E 'Repeats|Speed'
echo "Check:    against a plain loop that shares no code with the library"
"$bin/check_smvm" "$work/laplacian.npz" "$work/y.npy" | sed 's/^/  /'
cp "$work/r.html" build/demo.html
echo "Look:     build/demo.html, the report of the first run, in a browser"
