#include "support/catch.h"

#include <functional>

#include <anabranch/io.h>

#include "io/csr_layout.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

/// Opens and reads the bytes to their end; empty, or the message of the DataError.
std::string fault(const std::string& bytes) {
  try {
    auto file = io::detail::memory_file("m.npz", {bytes.begin(), bytes.end()});
    auto source = io::detail::open_csr(file, ScalarType::int32, ScalarType::float64, {});
    drain(*source);
    return "";
  } catch (const DataError& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("npz: a file cut off at any byte is refused") {
  const bool compress = GENERATE(false, true);
  const std::string whole = npz(members(sample(12)), compress);
  REQUIRE(fault(whole).empty());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    INFO("cut to " << n << " bytes");
    CHECK_FALSE(fault(whole.substr(0, n)).empty());
  }
}

TEST_CASE("npz: any changed byte is refused or harmless") {
  const bool compress = GENERATE(false, true);
  const std::string whole = npz(members(sample(12)), compress);
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      refused += !fault(bytes).empty();
    }
  CHECK(refused > 0);
}

TEST_CASE("npz: wrong members are refused with a reason") {
  const auto good = sample(100);
  struct Case {
    const char* what;
    std::function<void(Members&, Csr<>&)> change;
    const char* message;
  };
  const std::string huge = "(1000000000000000000,)";
  const Case cases[] = {
      {"no data", [](Members& m, Csr<>&) { m.erase("data.npy"); }, "no member data.npy"},
      {"csc", [](Members& m, Csr<>&) { m["format.npy"] = npy("|S3", "()", "csc"); }, "csc format"},
      {"coo, unicode",
       [](Members& m, Csr<>&) {
         m["format.npy"] = npy("<U3", "()", std::string("c\0\0\0o\0\0\0o\0\0\0", 12));
       },
       "coo format"},
      {"rows", [](Members& m, Csr<>&) { m["shape.npy"] = npy(std::vector<std::int64_t>{101, 50}); },
       "101 rows"},
      {"negative rows", [](Members& m, Csr<>&) { m["shape.npy"] = npy(std::vector<std::int64_t>{-1, 50}); },
       "not the shape"},
      {"huge rows",
       [](Members& m, Csr<>&) { m["shape.npy"] = npy(std::vector<std::int64_t>{1000000000000000000, 50}); },
       "shape"},
      {"largest rows",
       [](Members& m, Csr<>&) { m["shape.npy"] = npy(std::vector<std::int64_t>{INT64_MAX, 50}); }, "shape"},
      {"three extents",
       [](Members& m, Csr<>&) { m["shape.npy"] = npy(std::vector<std::int64_t>{100, 50, 1}); },
       "two integers"},
      {"fewer indices",
       [](Members& m, Csr<>& c) {
         c.indices.pop_back();
         m["indices.npy"] = npy(c.indices);
       },
       "entries"},
      {"fewer values",
       [](Members& m, Csr<>& c) {
         c.values.pop_back();
         m["data.npy"] = npy(c.values);
       },
       "data.npy"},
      {"huge count", [&](Members& m, Csr<>& c) { m["data.npy"] = npy("<f8", huge, raw(c.values)); },
       "promises"},
      {"overflowing count",
       [](Members& m, Csr<>& c) { m["data.npy"] = npy("<f8", "(9000000000000000000,)", raw(c.values)); },
       "promises"},
      {"count beyond 64 bits",
       [](Members& m, Csr<>& c) { m["data.npy"] = npy("<f8", "(99999999999999999999,)", raw(c.values)); },
       "64 bits"},
      {"negative count", [](Members& m, Csr<>& c) { m["data.npy"] = npy("<f8", "(-5,)", raw(c.values)); },
       "negative"},
      {"two dimensions",
       [](Members& m, Csr<>& c) {
         m["data.npy"] = npy("<f8", "(1, " + std::to_string(c.values.size()) + ")", raw(c.values));
       },
       "dimensions"},
      {"big-endian",
       [](Members& m, Csr<>& c) {
         m["data.npy"] = npy(">f8", "(" + std::to_string(c.values.size()) + ",)", raw(c.values));
       },
       "big-endian"},
      {"complex", [](Members& m, Csr<>&) { m["data.npy"] = npy("<c16", "(0,)", ""); }, "not supported"},
      {"float indices", [](Members& m, Csr<>& c) { m["indices.npy"] = npy(c.values); }, "cannot be an index"},
      {"text as data",
       [](Members& m, Csr<>& c) {
         m["data.npy"] = npy("|S8", "(" + std::to_string(c.values.size()) + ",)", raw(c.values));
       },
       "not a number"},
      {"first offset",
       [](Members& m, Csr<>& c) {
         c.indptr[0] = 1;
         m["indptr.npy"] = npy(c.indptr);
       },
       "begins with 1"},
      {"last offset too large",
       [](Members& m, Csr<>& c) {
         c.indptr.back()++;
         m["indptr.npy"] = npy(c.indptr);
       },
       "495 entries"},
      {"last offset too small",
       [](Members& m, Csr<>& c) {
         c.indptr[99]--;
         c.indptr.back()--;
         m["indptr.npy"] = npy(c.indptr);
       },
       "ends with"},
      {"falling offsets",
       [](Members& m, Csr<>& c) {
         c.indptr[50] = c.indptr[51] + 1;
         m["indptr.npy"] = npy(c.indptr);
       },
       "offset 51"},
      {"negative offset",
       [](Members& m, Csr<>& c) {
         c.indptr[1] = -1;
         m["indptr.npy"] = npy(c.indptr);
       },
       "offset 1"},
      {"offset too large",
       [](Members& m, Csr<>& c) {
         c.indptr[99] = 2000000000;
         m["indptr.npy"] = npy(c.indptr);
       },
       "offset"},
      {"first column",
       [](Members& m, Csr<>& c) {
         c.indices.front() = -1;
         m["indices.npy"] = npy(c.indices);
       },
       "entry 0 "},
      {"middle column",
       [](Members& m, Csr<>& c) {
         c.indices[200] = 50;
         m["indices.npy"] = npy(c.indices);
       },
       "entry 200 (byte 800"},
      {"last column",
       [](Members& m, Csr<>& c) {
         c.indices.back() = INT32_MIN;
         m["indices.npy"] = npy(c.indices);
       },
       "outside [0, 50)"},
      {"header of nonsense", [](Members& m, Csr<>&) { m["data.npy"] = "\x93NUMPY\x01"; }, "too few"},
      {"not npy", [](Members& m, Csr<>&) { m["data.npy"] = std::string(200, 'x'); }, "not an NPY"},
  };
  for (const bool compress : {false, true})
    for (const Case& c : cases) {
      INFO(c.what << (compress ? ", compressed" : ", stored"));
      Csr<> matrix = good;
      Members changed = members(good);
      c.change(changed, matrix);
      CHECK_THAT(fault(npz(changed, compress)), Catch::Contains(c.message) && Catch::Contains("m.npz"));
    }
}

TEST_CASE("npz: damaged compressed data are noticed") {
  const std::string whole = npz(members(sample(3000)), true);
  const auto at = whole.find("data.npy") + 8;
  std::string bytes = whole;
  bytes[at + 4000] = static_cast<char>(bytes[at + 4000] ^ 1);
  CHECK_FALSE(fault(bytes).empty());
  // The stored checksum of the member, in the directory.
  bytes = whole;
  const auto directory = whole.find("PK\x01\x02");
  bytes[directory + 16] = static_cast<char>(bytes[directory + 16] ^ 1);
  CHECK_THAT(fault(bytes), Catch::Contains("checksum"));
}

TEST_CASE("npz: neither zip nor matrix") {
  CHECK_THAT(fault(""), Catch::Contains("empty"));
  CHECK_THAT(fault("hello"), Catch::Contains("neither"));
  CHECK_THAT(fault("PK\x05\x06" + std::string(18, '\0')), Catch::Contains("no member"));
}

TEST_CASE("npz: files that cannot be opened are IoErrors") {
  TemporaryDirectory dir;
  CHECK_THROWS_AS(io::inspect_matrix(dir / "missing.npz"), IoError);
  CHECK_THROWS_AS(io::inspect_matrix(dir.path()), IoError);
}
