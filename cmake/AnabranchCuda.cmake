# The CUDA toolkit, for what is compiled ahead of time: kernels/device and bench/gpu. Without it everything else is
# built. Sets CMAKE_CUDA_COMPILER where it is there and wanted.
include_guard(GLOBAL)

option(ANABRANCH_CUDA "Compile device primitives and GPU benchmarks where a CUDA toolkit is found"
  ${PROJECT_IS_TOP_LEVEL})
# By default PTX for Turing and newer, which the driver compiles when it is first used, and code for the GPUs of this
# machine. Three architectures take three times as long to compile: who distributes the library names them.
set(architectures 75-virtual)
execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
  OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" capability "${capability}")
    list(APPEND architectures "${capability}-real")
  endforeach()
  list(REMOVE_DUPLICATES architectures)
endif()
set(ANABRANCH_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "GPUs that code is compiled for ahead of time")

if(NOT ANABRANCH_CUDA OR ANABRANCH_SANITIZE)
  return()
endif()

find_package(CUDAToolkit 12.0 QUIET)
if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "${ANABRANCH_CUDA_ARCHITECTURES}")
endif()
if(CUDAToolkit_FOUND)
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${ANABRANCH_CCACHE}")
  endif()
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: device primitives for ${ANABRANCH_CUDA_ARCHITECTURES}")
else()
  unset(CMAKE_CUDA_COMPILER)
  message(STATUS "No CUDA toolkit (12.0 or newer): libanabranch-device and the GPU benchmarks are left out")
endif()
