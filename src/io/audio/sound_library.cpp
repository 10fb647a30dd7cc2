#include "io/audio/sound_library.h"

#include <dlfcn.h>

#include <string>

#include <anabranch/error.h>

namespace anabranch::io::detail {

namespace {

SoundLibrary open_library() {
  void* const library = ::dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw IoError(std::string("audio is read with libsndfile, which cannot be opened: ") + ::dlerror());
  const auto find = [&]<class F>(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    if (!function) throw IoError(std::string("libsndfile has no function ") + name);
  };
  SoundLibrary out{};
  find(out.open_virtual, "sf_open_virtual");
  find(out.close, "sf_close");
  find(out.seek, "sf_seek");
  find(out.readf_float, "sf_readf_float");
  find(out.readf_short, "sf_readf_short");
  find(out.error, "sf_error");
  find(out.strerror, "sf_strerror");
  find(out.command, "sf_command");
  return out;  // it stays open: others may have taken its address
}

}  // namespace

const SoundLibrary& sound_library() {
  static const SoundLibrary library = open_library();
  return library;
}

}  // namespace anabranch::io::detail
