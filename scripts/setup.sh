#!/usr/bin/env bash
# Installs what the build needs and this machine lacks (Debian 12). Idempotent; with nothing to do it only looks.
#   scripts/setup.sh [--browser]     with Chromium (300 MB), in which tests/browser looks at pages; else these tests are skipped
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache mold git ca-certificates   # to build
  llvm-19-dev libzstd-dev libtbb-dev libfmt-dev zlib1g-dev libisal-dev libsndfile1-dev robin-map-dev libxxhash-dev libjs-dygraphs   # the library; LLVM needs and only recommends zstd
  libcli11-dev nlohmann-json3-dev                         # the command
  catch2 libbenchmark-dev libeigen3-dev libmpfr-dev       # tests and benchmarks
  clang-format-19 clang-tidy-19 python3                   # checks
)
[ "${1:-}" != --browser ] || packages+=(chromium)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -qq &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
         "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup: could not install: ${missing[*]}" >&2
  exit 1
fi
