#!/usr/bin/env bash
# Puts the faults of tests/mutants/list.txt into a copy of the sources, one after another, and expects the random programs
# to find each: results that differ, an error, a crash, or no end. Part of the long tier: about a minute for each fault.
#   scripts/kill-mutants.sh [<part of a name>]
#   scripts/kill-mutants.sh --check     only looks whether each text stands once where it should: a test of the short tier
set -euo pipefail
cd "$(dirname "$0")/.."

only=${1:-} check=
[ "$only" != --check ] || { check=yes only=; }
work=build/mutants
if [ -z "$check" ]; then  # to the end of what needs a build

mkdir -p "$work/source"
# Only what differs is copied, so that what has not changed is not compiled again.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ -f "$file" ] || continue
  cmp -s "$file" "$work/source/$file" || { mkdir -p "$work/source/$(dirname "$file")"; cp -p "$file" "$work/source/$file"; }
done
log=$PWD/$work/log
# The copy's folders lie to one another as those of the checkout do: the compiler cache knows what is not changed.
build=$work/source/build/release
cmake -S "$work/source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$log" 2>&1 ||
  { cat "$log" >&2; exit 1; }

build() { cmake --build "$build" --target test_oracle anabranch-llvm >"$log" 2>&1; }
# Faults may make a program run for ever. The status is 0 where all programs pass: those of the short tier, then some more.
programs() { (cd "$build" && ANABRANCH_CACHE=off ANABRANCH_TEST_SHRINK_OFF=1 timeout 300 bin/test_oracle "$@" --abort >"$log" 2>&1) 2>>"$log"; }
run_programs() { programs "random states*,random programs on the CPU (*" && ANABRANCH_TEST_SEED=30000+700 programs "[seed]"; }
# What a status that is not 0 says; nothing where the tests themselves could not run.
death() {
  case $1 in
    124) echo "it does not end" ;;
    13[2-9]) echo "a crash" ;;
    *) grep -q '^assertions: .* failed' "$log" && { grep -qE 'result [0-9]+:' "$log" && echo "results differ" || echo "an error"; } ;;
  esac
}

build || { cat "$log" >&2; exit 1; }
run_programs || { echo "mutants: the random programs fail without any fault:" >&2; tail -n 40 "$log" >&2; exit 1; }

fi

# stands_once <file> <text>
stands_once() { FROM=$2 perl -0ne 'my $n = () = /\Q$ENV{FROM}\E/g; exit($n != 1)' "$1"; }

survivors=0 killed=0 wrong=0
try() {
  local name=$1 file=$2 from=$3 to=$4
  case $name in *"$only"*) ;; *) return 0 ;; esac
  if [ -n "$check" ]; then
    killed=$((killed + 1))
    [ -f "$file" ] && [ -n "$from" ] && [ "$from" != "$to" ] && stands_once "$file" "$from" && return 0
    echo "mutants: $name: the text does not stand once in $file" >&2
    wrong=$((wrong + 1))
    return 0
  fi
  if ! FROM=$from TO=$to perl -0pi -e 'my $n = () = /\Q$ENV{FROM}\E/g; $n == 1 or die "$n times\n"; s/\Q$ENV{FROM}\E/$ENV{TO}/' \
      "$work/source/$file" 2>>"$log"; then
    echo "mutants: $name: the text does not stand once in $file" >&2
    exit 1
  fi
  if ! build; then
    echo "mutants: $name: does not compile" >&2
    tail -n 20 "$log" >&2
    exit 1
  fi
  local status=0 how
  run_programs || status=$?
  if [ "$status" -eq 0 ]; then
    echo "survived: $name" >&2
    survivors=$((survivors + 1))
  elif how=$(death "$status"); then
    echo "killed: $name ($how)"
    killed=$((killed + 1))
  else
    echo "mutants: $name: the tests did not run" >&2
    tail -n 20 "$log" >&2
    exit 1
  fi
  cp "$file" "$work/source/$file"
}

name= file= from= to=
finish() {
  if [ -n "$name" ]; then try "$name" "$file" "${from%$'\n'}" "${to%$'\n'}"; fi
  name= file= from= to=
}
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '#'* | '') finish ;;
    -*) from+=${line#-}$'\n' ;;
    +*) to+=${line#+}$'\n' ;;
    *) if [ -z "$name" ]; then name=$line; else file=$line; fi ;;
  esac
done <tests/mutants/list.txt
finish
if [ -n "$check" ]; then
  echo "mutants: $killed faults, $wrong of which cannot be put in"
  [ "$wrong" -eq 0 ] && [ "$killed" -gt 0 ]
  exit
fi
echo "mutants: $killed killed, $survivors survived"
[ "$survivors" -eq 0 ] && [ "$killed" -gt 0 ]
