#include "support/catch.h"

#include "command.h"

using namespace cli_test;
using io_test::Members;
using io_test::npy;
using io_test::sample;

namespace {

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
const char* const huge = "1000000000000000000";

const std::vector<std::string> in_chunks{"--scheduler", "fixed:100"};

/// Refused with exit code 3, in few words that name the file and hold these; no output, no temporary file.
void refused(const std::string& name, const std::string& bytes, const std::vector<std::string>& words,
             const std::vector<std::string>& more = in_chunks) {
  INFO(name);
  const TemporaryDirectory dir;
  io_test::write_file(dir / name, bytes);
  std::vector<std::string> arguments{"smvm", dir / name, "--out", dir / "y.npy", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome o = command(arguments);
  CHECK(o.status == 3);
  CHECK(o.out.empty());
  INFO(o.err);
  CHECK(o.err.find("anabranch: " + dir / name) == 0);
  for (const std::string& word : words) CHECK(o.err.find(word) != std::string::npos);
  CHECK(dir.files() == 1);
  if (!sanitized) CHECK(o.peak_resident_bytes < 100 << 20);
}

Members good() { return io_test::members(sample(1000)); }

void refused_npz(const Members& members, const std::vector<std::string>& words) {
  refused("stored.npz", io_test::npz(members), words);
  refused("deflated.npz", io_test::npz(members, true), words);
}

}  // namespace

TEST_CASE("bad data: not a matrix at all") {
  refused("empty.npz", "", {"empty"});
  refused("text.mtx", "hello\n", {"neither"});
  refused("dense.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", {":1:", "array"});
  refused("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n", {":1:", "complex"});
  Members csc = good();
  csc["format.npy"] = npy("|S3", "()", "csc");
  refused_npz(csc, {"csc", "csr"});
  Members none = good();
  none.erase("indices.npy");
  refused_npz(none, {"indices.npy"});
  Members integers = good();
  integers["data.npy"] = npy(std::vector<std::int64_t>(sample(1000).values.size()));
  refused_npz(integers, {"int64", "float and double"});
}

TEST_CASE("bad data: truncated files") {
  const std::string npz = io_test::npz(good());
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{40}, npz.size() / 2, npz.size() - 1})
    refused("cut.npz", npz.substr(0, bytes), {});
  refused("cut.mtx", banner + "3 3 4\n1 1 1\n2 2 2\n3 3 3\n", {"4"});
  refused("cut.mtx", banner, {"size line"});
  refused("cut.mtx", banner + "3 3 2\n1 1 1.5\n2 2",
          {":4: the entry has no value: 'ROW COLUMN VALUE' expected"});
  refused("cut.mtx", banner + "3 3 2\n1 1 \n2 2 1.5", {":3: the entry has no value"});
  refused("cut.mtx", banner + "3 3 2\n1 1x\n2 2 1.5", {":3: neither a blank nor a number behind the column"});
}

TEST_CASE("bad data: a flipped bit in any member") {
  for (const char* member : {"data.npy", "indices.npy", "indptr.npy", "shape.npy", "format.npy"}) {
    std::string bytes = io_test::npz(good());
    const std::size_t begin = bytes.find(member) + std::string(member).size();
    const std::size_t last = begin + good().at(member).size() - 1;
    bytes[last] = static_cast<char>(bytes[last] ^ 0x40);
    refused("flipped.npz", bytes, {});
  }
  std::string bytes = io_test::npz(good());
  const std::size_t value = bytes.find("data.npy") + 8 + 200;
  bytes[value] = static_cast<char>(bytes[value] ^ 0x40);
  refused("flipped.npz", bytes, {": data.npy: ", "checksum (CRC-32)", "directory says"});
  refused("flipped.npz", bytes, {": data.npy: ", "checksum (CRC-32)"}, {"--backend", "interpreter"});
}

TEST_CASE("bad data: wrong counts") {
  Members m = good();
  m["shape.npy"] = npy(std::vector<std::int64_t>{999, 50});
  refused_npz(m, {"999", "1001"});
  m = good();
  m["data.npy"] = npy(std::vector<double>(7));
  refused_npz(m, {"data.npy", "7"});
  m = good();
  m["data.npy"] = npy("<f8", "(4994,)", "too short");
  refused_npz(m, {"data.npy"});
  auto a = sample(1000);
  a.indptr[500] = a.indptr[501] + 1;
  refused_npz(io_test::members(a), {"indptr.npy", "smaller"});
  a = sample(1000);
  a.indptr.back() += 1;
  refused_npz(io_test::members(a), {"indptr.npy", "4994"});
  refused("more.mtx", banner + "3 3 1\n1 1 1\n2 2 2\n", {"more"});
}

TEST_CASE("bad data: an index out of range in the middle names its place and leaves no output") {
  for (const std::int32_t wrong : {50, -1, INT32_MAX}) {
    auto a = sample(1000);
    a.indices[2500] = wrong;
    const std::vector<std::string> words{"indices.npy", "entry 2500", "byte 10000", std::to_string(wrong),
                                         "[0, 50)"};
    refused_npz(io_test::members(a), words);
    refused("interpreted.npz", io_test::npz(io_test::members(a)), words, {"--backend", "interpreter"});
  }
  std::string text = banner + "1000 50 1000\n";
  for (int r = 1; r <= 1000; ++r) text += std::to_string(r) + (r == 700 ? " 51 1\n" : " 50 1\n");
  refused("middle.mtx", text, {":702:", "51"});
}

TEST_CASE("bad data: 10^18 in a header is refused at once, with little memory") {
  for (int field = 0; field < 3; ++field) {
    std::string sizes;
    for (int i = 0; i < 3; ++i) sizes += (i ? " " : "") + std::string(i == field ? huge : "3");
    refused("huge.mtx", banner + sizes + "\n1 1 1\n2 2 1\n3 3 1\n", {":2:", huge});
  }
  for (const auto& shape : {std::vector<std::int64_t>{1'000'000'000'000'000'000, 50},
                            std::vector<std::int64_t>{1000, 1'000'000'000'000'000'000}}) {
    Members m = good();
    m["shape.npy"] = npy(shape);
    refused_npz(m, {huge});
  }
  for (const char* member : {"indptr.npy", "indices.npy", "data.npy"}) {
    Members m = good();
    m[member] = npy(std::string(member) == "data.npy" ? "<f8" : "<i4", "(" + std::string(huge) + ",)", "");
    refused_npz(m, {member});
  }
}

TEST_CASE("bad data: a vector that does not fit the matrix") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(good()));
  const auto refuses = [&](const std::string& bytes, const std::string& word) {
    io_test::write_file(dir / "x.npy", bytes);
    const Outcome o = command({"smvm", dir / "a.npz", "--vector", dir / "x.npy", "--out", dir / "y.npy"});
    INFO(o.err);
    CHECK(o.status == 3);
    CHECK(o.err.find("anabranch: " + dir / "x.npy") == 0);
    CHECK(o.err.find(word) != std::string::npos);
    CHECK(dir.files() == 2);
  };
  refuses(npy(std::vector<double>(49)), "49 elements, but the matrix has 50 columns");
  refuses(npy(std::vector<double>(51)), "51");
  refuses(npy("<f8", "(5, 10)", std::string(400, '\0')), "rank 2");
  refuses(npy("<f8", "(50,)", "short"), "");
  refuses(npy("<f8", "(" + std::string(huge) + ",)", ""), "");
  refuses(npy(std::vector<std::int64_t>(50)), "int64");
  refuses("not NPY", "");
}
