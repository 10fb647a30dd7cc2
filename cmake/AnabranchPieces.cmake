# The library is built from pieces, one folder each. A piece is a static library of position-independent code:
# white-box tests link single pieces, and the shared library takes the objects of all of them.
include_guard(GLOBAL)

# What every piece is compiled with. Floating point: results are part of the language's meaning, so the compiler
# may not contract x*y+z on its own.
add_library(anabranch_options INTERFACE)
target_compile_features(anabranch_options INTERFACE cxx_std_20)
target_compile_options(anabranch_options INTERFACE -ffp-contract=off)
# A project that embeds this one may compile its own code as it likes.
get_directory_property(given_options COMPILE_OPTIONS)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${given_options}"
    MATCHES "-Ofast|-f(fast-math|unsafe-math-optimizations|associative-math|reciprocal-math|finite-math-only)")
  target_compile_options(anabranch_options INTERFACE
    -fno-fast-math -fno-unsafe-math-optimizations -fno-associative-math -fno-reciprocal-math -fno-finite-math-only)
endif()
target_compile_definitions(anabranch_options INTERFACE
  ANABRANCH_CHECKED=$<BOOL:${ANABRANCH_CHECKED}>
  $<$<BOOL:${ANABRANCH_CHECKED}>:_GLIBCXX_ASSERTIONS>)

add_library(anabranch_warnings INTERFACE)
target_compile_options(anabranch_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wswitch-enum -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wundef
  -Wcast-align -Wimplicit-fallthrough
  $<$<BOOL:${ANABRANCH_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Flow-based warnings that g++ 12 also gives for correct code in its own headers (GCC bugs 105329, 105562):
  # they stay visible but do not stop a build.
  target_compile_options(anabranch_warnings INTERFACE
    -Wno-restrict -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overflow
    -Wno-error=stringop-overread)
endif()

if(ANABRANCH_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(anabranch_warnings INTERFACE -Wno-error=mismatched-new-delete)  # of LLVM's headers
  endif()
  target_compile_options(anabranch_options INTERFACE
    -fsanitize=${ANABRANCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(anabranch_options INTERFACE -fsanitize=${ANABRANCH_SANITIZE})
endif()

add_library(anabranch_headers INTERFACE)
target_include_directories(anabranch_headers INTERFACE "${PROJECT_SOURCE_DIR}/include")

# Sets what is common to all targets of ours: warnings, hidden symbols, position independence.
function(anabranch_configure target)
  target_link_libraries(${target} PRIVATE anabranch_options anabranch_warnings)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
endfunction()

# anabranch_sources(<variable> <pattern>...): the files that match in this folder, new ones included. That none does is
# an error: a folder that is named is there.
function(anabranch_sources variable)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  if(NOT sources)
    list(JOIN ARGN ", " patterns)
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}: no file matches ${patterns}")
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# anabranch_piece(<name> [GLOB <pattern>...] [INCLUDES <folder>...] [USES <library>...])
# A piece of the library from the sources that match in this folder (default: *.cpp, not recursive). INCLUDES are
# the include paths of the piece and of who links it.
function(anabranch_piece name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "GLOB;INCLUDES;USES")
  if(NOT arg_GLOB)
    set(arg_GLOB "*.cpp")
  endif()
  anabranch_sources(sources ${arg_GLOB})
  add_library(${name} STATIC ${sources})
  anabranch_configure(${name})
  target_include_directories(${name} PUBLIC ${arg_INCLUDES})
  target_link_libraries(${name} PUBLIC ${arg_USES})
  set_property(GLOBAL APPEND PROPERTY ANABRANCH_PIECES ${name})
endfunction()
