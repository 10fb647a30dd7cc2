# libsndfile's header: audio files. The library is opened when the first one is read. Gives the target SndFile::headers, and
# SndFile::sndfile for those who link it.
find_path(SNDFILE_INCLUDE_DIR sndfile.h)
find_library(SNDFILE_LIBRARY sndfile)
mark_as_advanced(SNDFILE_INCLUDE_DIR SNDFILE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SndFile REQUIRED_VARS SNDFILE_LIBRARY SNDFILE_INCLUDE_DIR)

if(SndFile_FOUND AND NOT TARGET SndFile::sndfile)
  add_library(SndFile::headers INTERFACE IMPORTED)
  set_target_properties(SndFile::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${SNDFILE_INCLUDE_DIR}")
  add_library(SndFile::sndfile UNKNOWN IMPORTED)
  set_target_properties(SndFile::sndfile PROPERTIES
    IMPORTED_LOCATION "${SNDFILE_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SNDFILE_INCLUDE_DIR}")
endif()
