#!/usr/bin/env bash
# Checks that scripts/setup.sh installs all that a build needs: copies a bare Debian 12, puts this checkout into the copy,
# and there, in a chroot, sets up, configures the release preset, builds the command and multiplies a small matrix.
#   scripts/check-fresh-machine.sh [--cold] [COMMAND...]
#     --cold      without this machine's compiler cache
#     COMMAND...  runs this in the checkout instead, for example scripts/demo.sh
# Needs root, mmdebstrap and the network; where one of them is missing it says "skipped" and exits with 77. The bare
# root is made once and kept as an archive, never written to again, in ${XDG_CACHE_HOME:-~/.cache}/anabranch-fresh,
# beside the packages that were downloaded; remove that folder for a newer one.
set -euo pipefail
cd "$(dirname "$0")/.."

cold=false
if [ "${1:-}" = --cold ]; then
  cold=true
  shift
fi
if [ $# -gt 0 ]; then command=("$@"); else command=(bash -euo pipefail -c '
  scripts/setup.sh
  cmake --preset release
  cmake --build --preset release --target anabranch_command check_smvm
  export PATH=$PWD/build/release/bin:$PATH
  cd "$(mktemp -d)"
  anabranch doctor
  anabranch generate laplacian2d --size 30 --out a.npz
  anabranch smvm a.npz --out y.npy
  check_smvm a.npz y.npy'); fi

skip() {
  echo "check-fresh-machine: skipped: $1"
  exit 77
}
fail() {
  echo "check-fresh-machine: failed" >&2
  exit 1
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v mmdebstrap >/dev/null || skip "needs mmdebstrap"
unshare --mount true 2>/dev/null || skip "needs mount namespaces"

store=${XDG_CACHE_HOME:-$HOME/.cache}/anabranch-fresh
bare=$store/bookworm.tar
log=$(mktemp)
root=$(mktemp -d)
ccache=$root/ccache
$cold || ccache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
mkdir -p "$store/packages" "$root/ccache" "$ccache"
# The mounts below live in a namespace of their own, so this folder holds nothing but the copy.
trap 'rm -rf --one-file-system "$root" "$log"' EXIT

if [ ! -f "$bare" ]; then
  # Packages come from where this machine's come from, if it is a Debian 12.
  sources=()
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    ! grep -qs bookworm "$file" || sources+=("$file")
  done
  options=$(mktemp)
  apt-config dump | grep -E '^Acquire::(Check-|Retries|(http|https)::Proxy)' >"$options" || true
  made=$bare.$$
  if ! mmdebstrap --variant=minbase --include=ca-certificates --aptopt="$options" bookworm "$made.tar" \
      ${sources[@]+"${sources[@]}"} >"$log" 2>&1; then
    rm -f "$made.tar" "$options"
    cat "$log" >&2
    fail
  fi
  rm -f "$options"
  mv "$made.tar" "$bare"
fi

tar --extract --file "$bare" --directory "$root" --numeric-owner
mkdir "$root/anabranch"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read |
  tar --extract --directory "$root/anabranch"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

# Nothing of this machine's environment is seen inside.
inside() {
  unshare --mount --propagation private bash -euo pipefail -c '
    root=$1 packages=$2 ccache=$3
    shift 3
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/run"
    mount --bind "$packages" "$root/var/cache/apt/archives"
    mount --bind "$ccache" "$root/ccache"
    exec env --ignore-environment HOME=/root LANG=C.UTF-8 CCACHE_DIR=/ccache \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      chroot "$root" bash -c "cd /anabranch && exec \"\$@\"" bash "$@"' \
    bash "$root" "$store/packages" "$ccache" "${command[@]}"
}
if [ $# -gt 0 ]; then
  inside || fail
else
  inside >"$log" 2>&1 || { cat "$log" >&2; fail; }
fi
echo "check-fresh-machine: passed"
