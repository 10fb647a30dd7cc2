# Builds and runs the outside project in the folder `user`; see CMakeLists.txt beside it.
# Variables: mode, source, build, work, generator, compiler, launcher, build_type, flags, sanitize, werror,
# checked.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${launcher}")  # a list, which no argument would keep whole
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")
set(options -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}"
  "-DCMAKE_BUILD_TYPE=${build_type}" "-DCMAKE_CXX_FLAGS=${flags}")
string(TOUPPER "${build_type}" type)
if(type)
  list(APPEND options "-DCMAKE_CXX_FLAGS_${type}=${type_flags}")
endif()
if(sanitize)  # a sanitizer's run time has to be in the program, too
  list(APPEND options "-DCMAKE_EXE_LINKER_FLAGS=-fsanitize=${sanitize}")
endif()
set(user_build "${work}")
if(mode STREQUAL "installed")
  set(user_build "${work}/build")
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${work}/first-place")
  file(RENAME "${work}/first-place" "${work}/prefix")
  foreach(file IN ITEMS man/man1/anabranch.1 man/man1/anabranch-smvm.1 bash-completion/completions/anabranch
      zsh/site-functions/_anabranch fish/vendor_completions.d/anabranch.fish)
    if(NOT EXISTS "${work}/prefix/share/${file}")
      message(FATAL_ERROR "not installed: share/${file}")
    endif()
  endforeach()
  foreach(package IN ITEMS llvm-19-dev libxxhash-dev robin-map-dev)
    if(EXISTS "/usr/share/doc/${package}/copyright" AND
        NOT EXISTS "${work}/prefix/share/doc/anabranch/licences/${package}.txt")
      message(FATAL_ERROR "not installed: the licence of ${package}")
    endif()
  endforeach()
  list(APPEND options "-DCMAKE_PREFIX_PATH=${work}/prefix")
else()
  # The options of the build that is being tested.
  list(APPEND options "-DANABRANCH_SOURCE=${source}" "-DANABRANCH_SANITIZE=${sanitize}"
    "-DANABRANCH_WERROR=${werror}" "-DANABRANCH_CHECKED=${checked}")
endif()
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/user" -B "${user_build}" ${options})
run("${CMAKE_COMMAND}" --build "${user_build}" --target user)
run("${user_build}/user")
# Where that project installs it, with nothing but what it has installed.
run("${CMAKE_COMMAND}" --install "${user_build}" --prefix "${work}/own")
if(mode STREQUAL "installed")
  file(RENAME "${work}/prefix" "${work}/gone")
elseif(NOT EXISTS "${work}/own/share/doc/anabranch/LICENSE")
  message(FATAL_ERROR "not installed with the outside project: share/doc/anabranch/LICENSE")
endif()
run("${work}/own/bin/user")
