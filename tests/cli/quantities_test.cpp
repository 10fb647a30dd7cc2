#include "support/catch.h"

#include "apps/common/byte_size.h"
#include "apps/common/quantities.h"
#include "audio_files.h"
#include "command.h"

// Counts and rates in what the command says: of one, and of very little.
using namespace cli_test;
using namespace anabranch::apps;

namespace {
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("quantities: one of a kind, and several") {
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(2, "weighted link") == "2 weighted links");
  CHECK(counted(1, "entry") == "1 entry");
  CHECK(counted(7, "entry") == "7 entries");
  CHECK(counted(7, "array") == "7 arrays");
  CHECK(decimal_bytes(1) == "1 byte");
  CHECK(binary_bytes(0) == "0 bytes");
}

TEST_CASE("quantities: rates have three digits that count, however small or large") {
  CHECK(rate_text(0, "link") == "0 links/s");
  CHECK(rate_text(0.03217, "link") == "0.0322 links/s");
  CHECK(rate_text(12, "entry") == "12 entries/s");
  CHECK(rate_text(999.4, "link") == "999 links/s");
  CHECK(rate_text(999.6, "link") == "1 k links/s");
  CHECK(rate_text(12'345, "word") == "12.3 k words/s");
  CHECK(rate_text(7.484e6, "item") == "7.48 M items/s");
  CHECK(byte_rate_text(312) == "312 B/s");
  CHECK(byte_rate_text(2.4812e9) == "2.48 GB/s");
  CHECK(per_second(std::int64_t{5}, 0) == 0);
}

TEST_CASE("reports: of one thing they speak in the singular, and of little they say how fast it was") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "g.txt", "0 0\n");
  const std::string graph = command({"pagerank", dir / "g.txt", "--threads", "1"}).out;
  INFO(graph);
  for (const char* part : {"1 node, 1 link\n", "1 thread,", "1 node in 1 chunk of 1 node,"})
    CHECK(has(graph, part));
  CHECK_FALSE(has(graph, " 0.0 "));
  CHECK(has(graph, "links/s, "));
  io_test::write_file(dir / "m.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
  const std::string matrix = command({"smvm", dir / "m.mtx", "--stats"}).out;
  INFO(matrix);
  for (const char* part : {"1 x 1, 1 entry,", "1 row in 1 chunk of 1 row,", "1 item, 1 element,"})
    CHECK(has(matrix, part));
  CHECK_FALSE(has(matrix, "0.00 GB/s"));
  CHECK(has(matrix, "entries/s\n"));
  io_test::write_file(dir / "w.txt", "abc\n");
  const std::string words = command({"md5", "900150983cd24fb0d6963f7d28e17f72", dir / "w.txt"}).err;
  INFO(words);
  for (const char* part : {"1 candidate a word,", "1 word in 1 chunk of 1 word,", " words/s, "})
    CHECK(has(words, part));
  CHECK_FALSE(has(words, " 0.0 "));
  const std::string made = command({"generate", "laplacian2d", "--size", "1", "--out", dir / "g.npz"}).out;
  CHECK(has(made, "1 x 1, 1 entry, "));
  io_test::write_file(dir / "a.wav", wav(audio_signal(100, 1)));
  const std::string audio = command({"audio", dir / "a.wav", "--out", dir / "f.npz"}).out;
  INFO(audio);
  for (const char* part : {"1 file,", "1 of 2048 samples,"}) CHECK(has(audio, part));
  const Outcome few = command({"smvm", dir / "m.mtx", "--memory", "9"});
  INFO(few.err);
  CHECK(has(few.err, "the vector x (8 bytes)"));
}
