#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

/// CUDA texts compiled by g++ into shared objects.
namespace anabranch::gpu_host {

/// The text does not compile, or breaks a rule while it runs: a barrier that not all threads reach, a trap, a
/// wrong number of parameters. The message names entry, block and what the threads wait for.
class HostError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using HeaderText = std::pair<std::string, std::string>;  ///< name, as the text includes it; its text

/// A text to compile, shim.h before it.
struct HostText {
  std::string source;
  std::span<const HeaderText> headers;
  /// With UndefinedBehaviorSanitizer, and with the one that this program is built with.
  bool sanitize = false;
};

/// Opens the text's shared object, never to be closed: cheap, and sanitizers keep addresses of its texts.
/// ANABRANCH_GPU_HOST_KEEP in the environment keeps the folder with the text. Throws HostError with g++'s
/// messages.
void* open_compiled(const HostText& text);

/// How often this process has run the compiler on a text.
int compiled_texts();

}  // namespace anabranch::gpu_host
