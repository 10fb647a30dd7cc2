#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace anabranch::testing {

/// A pipe from which all of this can be read, at most what a pipe takes (64 KiB), and to which nothing is added.
class FilledPipe {
 public:
  FilledPipe(const void* bytes, std::size_t size) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    if (::write(ends[1], bytes, size) != static_cast<ssize_t>(size)) std::abort();
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~FilledPipe() { ::close(out_); }
  FilledPipe(const FilledPipe&) = delete;
  FilledPipe& operator=(const FilledPipe&) = delete;
  int out() const { return out_; }

 private:
  int out_;
};

}  // namespace anabranch::testing
