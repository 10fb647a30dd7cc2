#!/usr/bin/env bash
# Sets up, builds and tests. The last line of the output is `N passed, N failed`; exit status 0 if all passed.
#   scripts/test.sh [--preset NAME]   release (default), dev, asan or tsan
#   scripts/test.sh --long [PART...]  all that there is to test with, sanitizers, too, in parts; it takes many hours, may be
#                                     ended at any time, and goes on where it was: scripts/test.sh --long --help
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release long=
while [ $# -gt 0 ]; do
  case $1 in
    --long) long=yes; shift; break ;;
    --preset) preset=${2:?--preset needs a name}; shift ;;
    *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift
done

# A build that fails counts as one failed test, so that the last line is there in every case.
fail_build() {
  echo "test: $1 failed" >&2
  echo "0 passed, 1 failed"
  exit 1
}

scripts/setup.sh || fail_build setup
[ -z "$long" ] || exec scripts/long_tier.py "$@"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; fail_build configuration; }
cmake --build --preset "$preset" || fail_build build

status=0
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 600 -j2 --label-exclude '^long$' |
  tee "$log" || status=$?

# ctest ends with `95% tests passed, 1 tests failed out of 20`; tests that were skipped do not count as passed.
total=$(sed -nE 's/^.* tests failed out of ([0-9]+)$/\1/p' "$log")
failed=$(sed -nE 's/^.*, ([0-9]+) tests failed out of .*$/\1/p' "$log")
if [ -z "$total" ]; then
  fail_build ctest
fi
skipped=$(grep -cE '\*\*\*Skipped|\(Disabled\)$' "$log" || true)
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
passed=$((total - failed - skipped))
echo "$passed passed, $failed failed"
exit "$status"
