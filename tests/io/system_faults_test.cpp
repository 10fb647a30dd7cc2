#include "support/catch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include <anabranch/io.h>

#include "io/base/system.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

/// Replaces the table's calls while it lives; the k-th call fails.
class Faults {
 public:
  explicit Faults(int at, int error) {
    left = at;
    code = error;
    auto& calls = io::detail::system_calls();
    calls.pread = [](int fd, void* to, std::size_t n, off_t offset) {
      return fail() ? -1 : ::pread(fd, to, n, offset);
    };
    calls.pwrite = [](int fd, const void* from, std::size_t n, off_t offset) {
      return fail() ? -1 : ::pwrite(fd, from, n, offset);
    };
    calls.rename = [](const char* from, const char* to) { return fail() ? -1 : ::rename(from, to); };
  }
  ~Faults() { io::detail::system_calls() = original; }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  static bool happened() { return left < 0; }

 private:
  static bool fail() {
    if (left-- != 0) return false;
    errno = code;
    return true;
  }
  io::detail::SystemCalls original = io::detail::system_calls();
  inline static std::atomic<int> left;
  inline static int code;
};

void short_calls() {
  auto& calls = io::detail::system_calls();
  calls.pread = [](int fd, void* to, std::size_t n, off_t offset) {
    return ::pread(fd, to, std::min<std::size_t>(n, 7), offset);
  };
  calls.pwrite = [](int fd, const void* from, std::size_t n, off_t offset) {
    return ::pwrite(fd, from, std::min<std::size_t>(n, 7), offset);
  };
}

const std::vector<std::int64_t> lengths{2, 1};
const std::vector<std::int32_t> columns{0, 2, 1};
const std::vector<double> values{1, 2, 3};

void write_matrix(const std::string& path) {
  io::CsrWriter writer(path, 3, ScalarType::int32, ScalarType::float64);
  writer.append<std::int32_t, double>(lengths, columns, values);
  writer.commit();
}

Csr<> read_matrix(const std::string& path) {
  return drain(*io::open_csr<std::int32_t, double>(path).erased(), 3);
}

const Csr<> matrix{3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3}};

}  // namespace

TEST_CASE("io: interrupted and short calls change nothing") {
  TemporaryDirectory dir;
  const std::string name = GENERATE(std::string("m.npz"), std::string("m.mtx"));
  for (int k = 0; k < 30; ++k) {
    Faults faults(k, EINTR);
    if (k == 0) write_matrix(dir / name);
    CHECK(read_matrix(dir / name) == matrix);
  }
  const auto original = io::detail::system_calls();
  short_calls();
  write_matrix(dir / name);
  const auto got = read_matrix(dir / name);
  io::detail::system_calls() = original;
  CHECK(got == matrix);
}

TEST_CASE("io: a file without a checksum that is written to while it is read is refused") {
  static std::string path;
  static std::atomic<int> reads;
  TemporaryDirectory dir;
  const auto original = io::detail::system_calls();
  const auto changing = [&](int at) {
    reads = at;
    io::detail::system_calls().pread = [](int fd, void* to, std::size_t n, off_t offset) {
      if (reads-- == 0) write_file(path, read_file(path));
      return ::pread(fd, to, n, offset);
    };
  };
  for (const char* name : {"m.mtx", "v.npy"}) {
    path = dir / name;
    const bool matrix_file = path.ends_with(".mtx");
    const auto read = [&] {
      if (matrix_file)
        read_matrix(path);
      else
        io::read_npy<1, double>(path);
    };
    if (matrix_file)
      write_matrix(path);
    else
      io::write_npy(path, Vector<double>({1, 2, 3}));
    changing(1);
    CHECK_THROWS_WITH(read(), path + ": the file changed while it was read");
    io::detail::system_calls() = original;
    CHECK_NOTHROW(read());
  }
}

TEST_CASE("io: a writer that could not write takes nothing more, and leaves no output") {
  const std::int64_t n = 200'000;  // more than a buffer
  const std::vector<std::int64_t> row{n};
  const std::vector<std::int32_t> many_columns(static_cast<std::size_t>(n), 1);
  const std::vector<double> many_values(static_cast<std::size_t>(n), 0.5);
  const std::string name = GENERATE(std::string("m.npz"), std::string("m.mtx"), std::string("v.npy"));
  CAPTURE(name);
  const auto matrix_steps = [&](io::CsrWriter& writer) {
    return std::vector<std::function<void()>>{
        [&] { writer.append<std::int32_t, double>(row, many_columns, many_values); },
        [&] { writer.append<std::int32_t, double>(row, many_columns, many_values); },
        [&] { writer.commit(); }};
  };
  const auto vector_steps = [&](io::NpyWriter& writer) {
    return std::vector<std::function<void()>>{[&] { writer.append(std::span(many_values)); },
                                              [&] { writer.append(std::span(many_values)); },
                                              [&] { writer.commit(); }};
  };
  bool more = true;
  for (int k = 0; more; ++k) {
    REQUIRE(k < 1000);
    TemporaryDirectory dir;
    std::optional<io::CsrWriter> matrix;
    std::optional<io::NpyWriter> vector;
    if (name == "v.npy")
      vector.emplace(dir / name, ScalarType::float64);
    else
      matrix.emplace(dir / name, 3, ScalarType::int32, ScalarType::float64);
    Faults faults(k, ENOSPC);
    bool failed = false;
    for (const auto& step : matrix ? matrix_steps(*matrix) : vector_steps(*vector)) {
      if (failed) {
        REQUIRE_THROWS_AS(step(), IoError);
        continue;
      }
      try {
        step();
      } catch (const IoError&) {
        failed = true;
      }
    }
    more = failed;
    if (failed) REQUIRE_FALSE(std::filesystem::exists(dir / name));
  }
}

TEST_CASE("io: the k-th call failing is an IoError, and leaves no output") {
  const std::string name = GENERATE(std::string("m.npz"), std::string("m.mtx"));
  bool more = true;
  for (int k = 0; more; ++k) {
    REQUIRE(k < 100);
    TemporaryDirectory dir;
    Faults faults(k, ENOSPC);
    try {
      write_matrix(dir / name);
      more = false;
      CHECK_FALSE(Faults::happened());
    } catch (const IoError& e) {
      CHECK(std::string(e.what()).find("No space left") != std::string::npos);
      CHECK(dir.files() == 0);
    }
  }
  TemporaryDirectory dir;
  write_matrix(dir / name);
  more = true;
  for (int k = 0; more; ++k) {
    REQUIRE(k < 100);
    Faults faults(k, EIO);
    try {
      const auto got = read_matrix(dir / name);
      CHECK(got == matrix);
      more = Faults::happened();
    } catch (const IoError&) {
    }
  }
}

TEST_CASE("io: a file that says that it is empty, and is not, is refused") {
  for (const char* path : {"/proc/cpuinfo", "/proc/self/maps"}) {
    CHECK_THROWS_AS(io::open_lines(path), IoError);
    CHECK_THROWS_WITH(io::open_lines(path), Catch::StartsWith(std::string(path) + ": its size is 0"));
  }
  TemporaryDirectory dir;
  write_file(dir / "empty", "");
  SourceChunk chunk;
  CHECK_FALSE(io::open_lines(dir / "empty").erased()->next({}, chunk));
}
