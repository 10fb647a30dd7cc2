#!/usr/bin/env bash
# Sets up, builds, and does the main job once: multiplies a sparse matrix that is several times larger than the memory
# it may use by a vector, streaming it from disk, and checks the result against a plain loop.
#   scripts/demo.sh [N]     the matrix is a 27-point Laplacian of N^3 rows (default 100: 1,000,000 rows, 324 MB)
set -euo pipefail
cd "$(dirname "$0")/.."

size=${1:-100}
memory=64M
bin=build/release/bin

scripts/setup.sh
echo "Building ..."
log=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$log" "$work"' EXIT
{ cmake --preset release && cmake --build --preset release --target anabranch_command check_smvm; } >"$log" 2>&1 ||
  { cat "$log" >&2; exit 1; }

matrix=$work/laplacian.npz
"$bin/anabranch" generate laplacian3d --size "$size" --points 27 --out "$matrix" >/dev/null
bytes=$(stat --format=%s "$matrix")
echo "Matrix:   3-D Laplacian, $size^3 rows, 27 points: $((bytes / 1000000)) MB on disk"
echo "Memory:   $memory for the whole run"

"$bin/anabranch" smvm "$matrix" --memory "$memory" --out "$work/y.npy" --json >"$work/report.json"
echo "Run:"
sed -E 's/[{}"]//g; s/,[[:space:]]*/\n/g; s/:/: /g' "$work/report.json" | sed '/^[[:space:]]*$/d; s/^/  /'

echo -n "Check:    "
"$bin/check_smvm" "$matrix" "$work/y.npy"
