#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../io/matrix_files.h"
#include "support/sanitized.h"

/// The command as its users meet it: a process, its exit status, what it writes.
namespace cli_test {

using io_test::TemporaryDirectory;

/// Then memory is not what it is, and libraries are not where they are.
using anabranch::testing::sanitized;

struct Outcome {
  int status = -1;  ///< exit status; -n if signal n ended the process
  std::string out, err;
  std::int64_t peak_resident_bytes = 0;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct Start {
  std::vector<std::string> environment{};  ///< "NAME=value", beside what there is
  int stdin_from = -1;                     ///< this descriptor instead of the test's standard input
  std::string stdout_to{};                 ///< this file instead of a pipe to the test
  bool stdout_closed = false;              ///< a pipe that nobody reads
  bool stderr_terminal = false;            ///< a pseudo-terminal instead of a pipe
  bool stderr_closed = false;              ///< a pipe that nobody reads
};

/// The command while it runs.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments, const Start& start = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  /// Has it begun to handle this signal? The command blocks those that it waits for.
  bool blocks(int signal) const;
  /// Has it a regular file open in this folder, with a name or without, that has bytes? One without is tried first, for a moment.
  bool has_written_to(const std::string& folder) const;
  /// Reads both outputs to their ends and waits.
  Outcome finish();

 private:
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
};

/// Waits until it is so. Throws where it is not within a minute.
void wait_until(const std::function<bool()>& ready);

/// Where the command is: beside this test program.
std::string command_path();

inline Outcome command(const std::vector<std::string>& arguments, const Start& start = {}) {
  return Process(arguments, start).finish();
}

/// The elements of an .npy vector, read without the library. Throws unless it has this dtype.
template <class T>
std::vector<T> npy_vector(const std::string& path) {
  const std::string bytes = io_test::read_file(path);
  const char* dtype = sizeof(T) == 4 ? "'<f4'" : "'<f8'";
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    throw std::runtime_error(path + ": no NPY file");
  const std::size_t begin =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  if (bytes.substr(0, begin).find(dtype) == std::string::npos)
    throw std::runtime_error(path + ": another dtype");
  std::vector<T> values((bytes.size() - begin) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(T));
  return values;
}

/// A x, by one plain loop.
template <class I, class T>
std::vector<T> product(const io_test::Csr<I, T>& a, const std::vector<T>& x) {
  std::vector<T> y;
  for (std::size_t r = 0; r + 1 < a.indptr.size(); ++r) {
    T sum = 0;
    for (auto k = static_cast<std::size_t>(a.indptr[r]); k < static_cast<std::size_t>(a.indptr[r + 1]); ++k)
      sum += a.values[k] * x[static_cast<std::size_t>(a.indices[k])];
    y.push_back(sum);
  }
  return y;
}

/// Small whole numbers: products and sums with io_test::sample are exact in float, in any order.
template <class T>
std::vector<T> whole_numbers(std::int64_t count) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(static_cast<T>(i % 7 - 3));
  return x;
}

}  // namespace cli_test
