#!/usr/bin/env bash
# Checks the layout of every tracked source with clang-format; `--fix` changes the files instead.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
git ls-files -z -- '*.cpp' '*.h' '*.cu' '*.cuh' '*.js' | xargs -0 -r clang-format-19 --style=file "${mode[@]}"
