# Build tools that are used when they are there: ccache and mold. Both change only how long a build takes.
# An embedding project chooses its own.
include_guard(GLOBAL)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# Paths below this folder count as relative ones, and the folder that the compiler runs in does not count, so that
# every clone finds what another one has compiled.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(ANABRANCH_CCACHE "${CMAKE_COMMAND}" -E env
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=true "${CCACHE_PROGRAM}")
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${ANABRANCH_CCACHE}")
  endif()
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold ANABRANCH_HAVE_MOLD)
  if(ANABRANCH_HAVE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
