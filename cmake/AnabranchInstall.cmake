# The installed package: the shared libraries side by side, the headers, the command, and what find_package needs.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/anabranch")
# A project that embeds this one has documents of its own.
set(doc_dir "${CMAKE_INSTALL_DOCDIR}")
if(NOT PROJECT_IS_TOP_LEVEL)
  set(doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/anabranch")
endif()

install(TARGETS anabranch EXPORT anabranchTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
# They are opened at run time: targets, too, so that who bundles the library finds them.
install(TARGETS anabranch-llvm EXPORT anabranchTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET anabranch-device)
  install(TARGETS anabranch-device EXPORT anabranchTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET anabranch_command)
  file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(anabranch_command PROPERTIES INSTALL_RPATH "\$ORIGIN/${lib_from_bin}")
  install(TARGETS anabranch_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}")  # manual pages, completions
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/anabranch" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD-PARTY.md"
  DESTINATION "${doc_dir}")

# The licences of what is inside of these files, where Debian has them.
set(contained llvm-19-dev libxxhash-dev robin-map-dev)
if(ANABRANCH_REPORTS)
  list(APPEND contained libjs-dygraphs)
endif()
if(TARGET anabranch_command)
  list(APPEND contained libcli11-dev nlohmann-json3-dev)
endif()
foreach(package IN LISTS contained)
  if(EXISTS "/usr/share/doc/${package}/copyright")
    install(FILES "/usr/share/doc/${package}/copyright"
      DESTINATION "${doc_dir}/licences" RENAME "${package}.txt")
  endif()
endforeach()

install(EXPORT anabranchTargets NAMESPACE anabranch:: FILE anabranchTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/anabranchConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/anabranchConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/anabranchConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/anabranchConfig.cmake" "${PROJECT_BINARY_DIR}/anabranchConfigVersion.cmake"
  DESTINATION "${package_dir}")
