#pragma once

#include <sndfile.h>

/// libsndfile, opened when it is first needed: who reads no audio does without it and all that it brings along.
namespace anabranch::io::detail {

struct SoundLibrary {
  decltype(&::sf_open_virtual) open_virtual;
  decltype(&::sf_close) close;
  decltype(&::sf_seek) seek;
  decltype(&::sf_readf_float) readf_float;
  decltype(&::sf_readf_short) readf_short;
  decltype(&::sf_error) error;
  decltype(&::sf_strerror) strerror;
  decltype(&::sf_command) command;
};

/// Throws IoError where it cannot be opened.
const SoundLibrary& sound_library();

}  // namespace anabranch::io::detail
