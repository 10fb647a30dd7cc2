#include "support/catch.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/matrix_files.h"
#include "io/mutations.h"
#include "support/sanitized.h"

// The targets of libFuzzer without it: on files that are right, and on thousands of random changes of them. Which, only the
// seed tells. What a target ends the process with is left as `fuzz-input` in the working directory.
extern "C" {
int fuzz_arrow_stream(const std::uint8_t* data, std::size_t size);
int fuzz_descriptor(const std::uint8_t* data, std::size_t size);
int fuzz_graph_file(const std::uint8_t* data, std::size_t size);
int fuzz_matrix_file(const std::uint8_t* data, std::size_t size);
int fuzz_stream_file(const std::uint8_t* data, std::size_t size);
}

namespace {

using namespace io_test;

using Target = int (*)(const std::uint8_t* data, std::size_t size);

std::string input;

extern "C" void keep_input(int signal) {
  if (const int file = ::open("fuzz-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); file >= 0)
    static_cast<void>(::write(file, input.data(), input.size()));
  constexpr char message[] = "fuzz: the input that this came of is in fuzz-input\n";
  static_cast<void>(::write(STDERR_FILENO, message, sizeof message - 1));
  ::raise(signal);  // what it does otherwise
}

/// While it lives, a target that ends the process leaves what it was given.
class KeptInput {
 public:
  KeptInput() {
    std::vector<int> signals{SIGILL, SIGTRAP, SIGABRT};
    if (!anabranch::testing::sanitized) signals.insert(signals.end(), {SIGSEGV, SIGBUS, SIGFPE});
    for (const int signal : signals) {
      struct sigaction action{};
      action.sa_handler = &keep_input;
      action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
      auto& [number, before] = before_.emplace_back(signal, action);
      ::sigaction(number, &action, &before);
    }
  }
  ~KeptInput() {
    for (const auto& [signal, before] : before_) ::sigaction(signal, &before, nullptr);
  }
  KeptInput(const KeptInput&) = delete;
  KeptInput& operator=(const KeptInput&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

void check(Target target, const std::vector<std::string>& files, int trials) {
  const KeptInput kept;
  const auto give = [&](const std::string& bytes) {
    input = bytes;
    REQUIRE(target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()) == 0);
  };
  give("");
  std::uint64_t seed = 0;
  for (const std::string& file : files) {
    give(file);
    mutate(file, trials, seed++, give);
  }
}

std::string matrix_market(const Csr<>& matrix) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(matrix.rows()) + " " +
                     std::to_string(matrix.cols) + " " + std::to_string(matrix.values.size()) + "\n";
  for (std::size_t r = 0; r + 1 < matrix.indptr.size(); ++r)
    for (auto k = static_cast<std::size_t>(matrix.indptr[r]);
         k < static_cast<std::size_t>(matrix.indptr[r + 1]); ++k)
      text += std::to_string(r + 1) + " " + std::to_string(matrix.indices[k] + 1) + " " +
              std::to_string(matrix.values[k]) + "\n";
  return text;
}

std::vector<std::string> matrix_files() {
  const auto matrix = sample(30, 40);
  return {npz(members(matrix)), npz(members(matrix), true), matrix_market(matrix)};
}

/// With every combination of options but weights of pairs, which have none.
std::vector<std::string> graph_files() {
  std::string links, weighted;
  std::vector<std::int32_t> narrow;
  std::vector<std::int64_t> wide;
  for (int i = 0; i < 60; ++i) {
    const int from = i * 7 % 40 + 1, to = i * i % 40 + 1;
    const std::string link = std::to_string(from) + (i % 2 == 0 ? " " : "\t") + std::to_string(to);
    links += link + "\n";
    weighted += link + " " + std::to_string(i) + ".5\n";
    narrow.insert(narrow.end(), {from, to});
    wide.insert(wide.end(), {from, to});
  }
  const auto matrix = sample(40, 40);
  std::vector<std::string> files;
  for (int options = 0; options < 64; ++options) {
    if ((options & 2) != 0 && (options & 4) != 0) continue;
    const auto add = [&](const std::string& bytes) { files.push_back(static_cast<char>(options) + bytes); };
    switch (options & 3) {
      case 0:
        add(npz(members(matrix), true));
        add(matrix_market(matrix));
        break;
      case 1:
        add("# from to\n" + ((options & 4) != 0 ? weighted : links));
        break;
      case 2:
        add(raw(narrow));
        break;
      default:
        add(raw(wide));
    }
  }
  return files;
}

/// 16 bit, two channels.
std::string wav(std::int16_t frames) {
  std::vector<std::int16_t> samples;
  for (std::int16_t i = 0; i < 2 * frames; ++i) samples.push_back(static_cast<std::int16_t>(i * 97));
  const std::string data = raw(samples);
  const auto number = [](std::uint32_t n) { return raw(std::vector<std::uint32_t>{n}); };
  const std::string format = raw(std::vector<std::uint16_t>{1, 2}) + number(8000) + number(32'000) +
                             raw(std::vector<std::uint16_t>{4, 16});
  const auto size = [](const std::string& bytes) { return static_cast<std::uint32_t>(bytes.size()); };
  const std::string parts = "WAVEfmt " + number(size(format)) + format + "data" + number(size(data)) + data;
  return "RIFF" + number(size(parts)) + parts;
}

/// The first byte is the kind.
std::vector<std::string> stream_files() {
  const std::vector<double> doubles{0, 1.5, -2, 3, 4, 5, 6e10, 7, 8};
  const std::vector<float> floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::string text = "one two  three\n\n\tfour\r\nfive" + std::string(300, 'x') + " six";
  const std::string kinds[] = {npy("<f8", "(3, 3)", raw(doubles)), npy("<c8", "(1, 3, 2)", raw(floats)),
                               // Two files of the same size, one behind the other.
                               npy(std::vector<std::int64_t>{0, 2, 2, 5, 6, 6, 6, 8, 9}) + npy(doubles), text,
                               text, wav(500)};
  std::vector<std::string> files;
  for (const std::string& bytes : kinds) files.push_back(static_cast<char>(files.size()) + bytes);
  return files;
}

/// The first byte is the kind, the second the number of items in a chunk.
std::vector<std::string> arrivals() {
  const std::string text = "one two  three\n\n\tfour\r\nfive" + std::string(300, 'x') + " six";
  std::string narrow, wide;
  for (int i = 0; i < 20; ++i) {
    const int n = i * 7 % 11;
    narrow += raw(std::vector<std::uint32_t>{static_cast<std::uint32_t>(n)});
    wide += raw(std::vector<std::uint64_t>{static_cast<std::uint64_t>(n)});
    narrow += raw(std::vector<double>(static_cast<std::size_t>(n), i));
    wide += raw(std::vector<float>(static_cast<std::size_t>(2 * n), 1.5f));
  }
  const std::string kinds[] = {
      text, text, std::string(120, 'r'), std::string(50, '\1') + std::string(50, '\0'), narrow, wide};
  std::vector<std::string> all;
  for (const std::string& bytes : kinds) {
    const std::string kind(1, static_cast<char>(all.size() / 2));
    all.push_back(kind + '\3' + bytes);
    all.push_back(kind + '\23' + bytes);
  }
  return all;
}

/// The first byte is the type, the second the number of batches.
std::vector<std::string> arrow_streams() {
  std::vector<std::string> all;
  for (int kind = 0; kind < 8; ++kind) {
    std::string bytes{static_cast<char>(kind), '\3'};
    for (int i = 0; i < 600; ++i) bytes += static_cast<char>(i * i % (kind + 90) % 97);
    all.push_back(bytes);
  }
  return all;
}

}  // namespace

TEST_CASE("fuzz targets: Arrow streams") { check(&fuzz_arrow_stream, arrow_streams(), 200); }
TEST_CASE("fuzz targets: what arrives at a descriptor") { check(&fuzz_descriptor, arrivals(), 30); }
TEST_CASE("fuzz targets: graph files") { check(&fuzz_graph_file, graph_files(), 5); }
TEST_CASE("fuzz targets: matrix files") { check(&fuzz_matrix_file, matrix_files(), 100); }
TEST_CASE("fuzz targets: files of streams") { check(&fuzz_stream_file, stream_files(), 50); }
TEST_CASE("fuzz targets: Arrow streams, many changes", "[.long]") {
  check(&fuzz_arrow_stream, arrow_streams(), 50'000);
}
TEST_CASE("fuzz targets: what arrives at a descriptor, many changes", "[.long]") {
  check(&fuzz_descriptor, arrivals(), 10'000);
}
TEST_CASE("fuzz targets: graph files, many changes", "[.long]") {
  check(&fuzz_graph_file, graph_files(), 500);
}
TEST_CASE("fuzz targets: matrix files, many changes", "[.long]") {
  check(&fuzz_matrix_file, matrix_files(), 20'000);
}
TEST_CASE("fuzz targets: files of streams, many changes", "[.long]") {
  check(&fuzz_stream_file, stream_files(), 20'000);
}
