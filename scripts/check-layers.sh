#!/usr/bin/env bash
# Checks that includes point the way the design says: a stage sees its own folder and those below it, the public
# headers see only each other, the scheduler sees nothing of ours, and LLVM and oneTBB stay in their corners.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
# allow <what> <regex of allowed includes> <file>...: every include of the files must match.
allow() {
  local what=$1 allowed=$2
  shift 2
  local found
  found=$(grep -HnE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null 2>/dev/null |
    grep -vE "include[[:space:]]+($allowed)" || true)
  if [ -n "$found" ]; then
    printf '%s may not include:\n%s\n' "$what" "$found" >&2
    status=1
  fi
}

shopt -s nullglob
standard='<[a-z_0-9]+>|<(sys|linux)/[a-z_]+\.h>|<(poll|execinfo|unistd|elf|fcntl|dlfcn|pthread|sched|signal|link|immintrin|cpuid|dirent)\.h>'
tools='<fmt/[a-z]+\.h>|<tsl/robin_(map|set)\.h>|<xxhash\.h>|<zlib\.h>|<isa-l/crc\.h>|<sndfile\.h>'
ours='["<]anabranch/'

allow "a public header" "<[a-z_]+>|$ours" include/anabranch/*.h include/anabranch/*/*.h
allow "the scheduler" "$standard|\"scheduler/" $(ls scheduler/*.h scheduler/*.cpp | grep -v '/tbb_executor\.cpp$')

# refuse <what> <regex of refused includes> <file>...: no include of the files may match.
refuse() {
  local what=$1 refused=$2
  shift 2
  local found
  found=$(grep -HnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+($refused)" "$@" /dev/null 2>/dev/null || true)
  if [ -n "$found" ]; then
    printf '%s may not include:\n%s\n' "$what" "$found" >&2
    status=1
  fi
}

# stage <folder> <folders it may see> [<folder in one of those that it may not see>]
stage() {
  allow "src/$1" "$standard|$tools|$ours|\"($2)/|\"[a-z0-9_]+\.h\"" src/"$1"/*.h src/"$1"/*.cpp
  [ $# -lt 3 ] || refuse "src/$1" "\"$3/" src/"$1"/*.h src/"$1"/*.cpp
}
stage ir 'ir|math'
stage front 'front|ir'
stage lift 'lift|ir'
stage fuse 'fuse|ir'
stage kernel 'kernel|ir'
stage plan 'plan|kernel|ir'
stage report 'report|plan|kernel|fuse|timeline|ir'
stage rearrange 'rearrange|ir|device'
stage interp 'interp|ir'
stage system 'system'
stage cache 'cache'
stage cpu 'cpu|kernel|ir|cache|system'
stage cuda 'cuda|kernel|ir|device|cache|system'
stage timeline 'timeline|io'
stage page 'page|timeline|io'
# folders <top> <what it may see besides itself> <folder>...: inside src/<top> the files of a folder see that folder and those
# before it in this list, which names all of them. What lies in src/<top> itself comes behind them.
folders() {
  local top=$1 others=$2 seen= folder file
  shift 2
  for folder in "$@"; do
    seen+=${seen:+|}$folder
    allow "src/$top/$folder" "$standard|$tools|$ours|\"$top/($seen)/[a-z_]+\.h\"${others:+|\"($others)/}" src/"$top/$folder"/*.h src/"$top/$folder"/*.cpp
  done
  for file in src/"$top"/*/*; do
    folder=${file#src/"$top"/}
    [[ ${folder%%/*} =~ ^($seen|backends)$ ]] || { echo "$file is not in a folder that scripts/check-layers.sh names" >&2; status=1; }
  done
}
# Of the scheduler: how many threads there are.
folders io scheduler base npy ragged text descriptor sparse audio arrow
refuse "src/io" '"scheduler/([abd-z]|c[^o]|co[^n]|con[^c])' src/io/*/*.h src/io/*/*.cpp
for file in src/io/*.h src/io/*.cpp; do
  echo "$file belongs in a folder of src/io" >&2
  status=1
done
execution='plan|kernel|rearrange|interp|ir|scheduler|timeline'
folders run "$execution" memory sources record context sinks chunks feeds stages
folders_of_run='memory|sources|record|context|sinks|chunks|feeds|stages'
# Above them, in src/run itself, each file sees the folders, itself and those before it.
seen=
for name in plan_run item_stream pushed_plan execute; do
  seen+=${seen:+|}$name
  allow "src/run/$name" "$standard|$tools|$ours|\"($execution)/|\"run/([a-z]+/[a-z_]+|$seen)\.h\"" src/run/$name.h src/run/$name.cpp
  refuse "src/run/$name" '"run/backends/' src/run/$name.h src/run/$name.cpp
done
for file in src/run/*.h src/run/*.cpp; do
  [[ $(basename "${file%.*}") =~ ^($seen)$ ]] || { echo "$file is not in the list of scripts/check-layers.sh" >&2; status=1; }
done
# What computes comes last: it runs bodies of loops, and sees all but the rest of those files.
allow "src/run/backends" "$standard|$tools|$ours|\"($execution|cpu|cuda|device|system)/|\"run/([a-z]+/[a-z_]+|plan_run)\.h\"" \
  src/run/backends/*.h src/run/backends/*.cpp
allow "the spine" "$standard|$tools|$ours|\"([a-z]+/|io/[a-z]+/|run/($folders_of_run)/)?[a-z_]+\.h\"|\"run/backends/choose\.h\"" \
  $(ls src/*.h src/*.cpp)
refuse "the spine" '"(cpu|cuda|device)/' $(ls src/*.h src/*.cpp | grep -v '/doctor\.cpp$')
allow "kernels/device" "$standard|$ours|\"(device|system)/|<(cub|cuda|thrust)/|<cuda_runtime_api\.h>" \
  kernels/device/*.h kernels/device/*.cpp kernels/device/*.cu
allow "kernels/math" '"[a-z_]+\.h"|<math\.h>' kernels/math/*.h
allow "kernels/cuda" '"[a-z_]+\.cuh"' kernels/cuda/*.cuh
allow "src/cpu/llvm" "$standard|$tools|$ours|\"(cpu|kernel|ir|math)/|[\"<]llvm(-c)?/" src/cpu/llvm/*.h src/cpu/llvm/*.cpp
allow "the command" "$standard|$tools|$ours|\"apps/|<(CLI|nlohmann)/" apps/*.h apps/*.cpp $(ls apps/*/*.{h,cpp} | grep -v /examples/)
allow "a program" "$standard|$ours|\"apps/[a-z0-9]+/(program|fft)\.h\"" apps/*/{program,fft}.{h,cpp}
allow "an example" "$standard|$ours|\"[a-z_]+\.h\"" apps/examples/*.h apps/examples/*.cpp

# Operands have names (src/ir/views.h); where they stand among the children only makers and views know.
positions=$(grep -rnE 'child\([0-9]\)|children\(\)(\[[0-9]\]|\.(front|back)\(\))' src | grep -vE '^src/ir/(make_[a-z]+\.cpp|rebuild\.cpp|views\.h):' || true)
if [ -n "$positions" ]; then
  printf 'operands by position, not by name:\n%s\n' "$positions" >&2
  status=1
fi
exit $status
