#!/usr/bin/env bash
# Runs clang-tidy on the sources that differ from origin/main, or on a sample of every stage where nothing differs.
# At most `limit` files, so that it stays within two minutes; what is left out is named. `--all` takes every source.
# Needs build/release configured, for the compile commands. The long tier runs it with `--all`.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=8
sample=(src/compile.cpp apps/main.cpp scheduler/tbb_executor.cpp)
folders=(src scheduler apps kernels)

if [ "${1:-}" = --all ]; then
  mapfile -t files < <(git ls-files -- "${folders[@]/%//*.cpp}")
  limit=${#files[@]}
else
  files=()
  if git rev-parse --quiet --verify origin/main >/dev/null; then
    mapfile -t files < <(git diff --name-only --diff-filter=d origin/main -- "${folders[@]/%//*.cpp}")
  fi
  [ ${#files[@]} -gt 0 ] || files=("${sample[@]}")
fi

chosen=()
left_out=()
for file in "${files[@]}"; do
  if [ ! -f "$file" ]; then
    echo "tidy: no such file: $file (see the sample in $0)" >&2
    exit 1
  elif [ ${#chosen[@]} -lt "$limit" ]; then
    chosen+=("$file")
  else
    left_out+=("$file")
  fi
done
echo "tidy: ${chosen[*]}"
[ ${#left_out[@]} -eq 0 ] || echo "tidy: left out, run with --all to see them: ${left_out[*]}"

# The commands are g++'s: clang does not know all of its warnings.
printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P 2 clang-tidy-19 -p build/release --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2)
