# Build tools that are used when they are there: ccache and mold. Both change only how long a build takes.
# An embedding project chooses its own.
include_guard(GLOBAL)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold ANABRANCH_HAVE_MOLD)
  if(ANABRANCH_HAVE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
