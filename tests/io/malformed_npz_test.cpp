#include "support/catch.h"

#include <functional>
#include <set>

#include <anabranch/io.h>

#include <fmt/format.h>

#include "io/sparse/csr_layout.h"
#include "matrix_files.h"
#include "mutations.h"

using namespace anabranch;
using namespace io_test;

namespace {

/// What became of reading a file to its end: the matrix, or the message of the DataError.
struct Reading {
  Csr<> matrix;
  std::string fault;
};

Reading read(const std::string& bytes, std::int64_t cols = 50) {
  try {
    auto file = io::detail::memory_file("m.npz", {bytes.begin(), bytes.end()});
    auto source = io::detail::open_csr(file, ScalarType::int32, ScalarType::float64, {});
    return {drain(*source, cols), ""};
  } catch (const DataError& e) {
    return {{}, e.what()};
  }
}

std::string fault(const std::string& bytes) { return read(bytes).fault; }

/// The same matrix written by our own writer: with zip64 fields, members in another order.
std::string npz_of_writer(const Csr<>& m) {
  const TemporaryDirectory dir;
  io::CsrWriter writer(dir / "m.npz", m.cols, ScalarType::int32, ScalarType::float64);
  std::vector<std::int64_t> lengths;
  for (std::size_t r = 1; r < m.indptr.size(); ++r) lengths.push_back(m.indptr[r] - m.indptr[r - 1]);
  writer.append<std::int32_t, double>(lengths, m.indices, m.values);
  writer.commit();
  return read_file(dir / "m.npz");
}

// ---- Places in a zip file

std::size_t header_of(const std::string& zip, const std::string& name) { return zip.find(name) - 30; }
std::size_t entry_of(const std::string& zip, const std::string& name) { return zip.rfind(name) - 46; }
std::size_t end_record(const std::string& zip) { return zip.rfind("PK\x05\x06"); }

std::uint64_t get(const std::string& zip, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(zip.at(at + static_cast<std::size_t>(i)));
  return value;
}
void set(std::string& zip, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8)
    zip.at(at + static_cast<std::size_t>(i)) = static_cast<char>(value & 255);
}
void add(std::string& zip, std::size_t at, std::uint64_t value, int bytes) {
  set(zip, at, get(zip, at, bytes) + value, bytes);
}
std::size_t data_of(const std::string& zip, const std::string& name) {
  const std::size_t header = header_of(zip, name);
  return header + 30 + get(zip, header + 26, 2) + get(zip, header + 28, 2);
}

const char* const names[] = {"data.npy", "format.npy", "indices.npy", "indptr.npy", "shape.npy"};

/// A file whose bytes the test may change while it is read.
class ChangingFile final : public io::detail::ReadFile {
 public:
  explicit ChangingFile(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, void* into, std::int64_t bytes) const override {
    bytes_.copy(static_cast<char*>(into), static_cast<std::size_t>(bytes), static_cast<std::size_t>(offset));
  }
  void flip(std::size_t at) { bytes_.at(at) = static_cast<char>(bytes_.at(at) ^ 0x40); }

 private:
  std::string name_ = "m.npz";
  std::string bytes_;
};

}  // namespace

TEST_CASE("npz: a file cut off at any byte is refused") {
  const bool compress = GENERATE(false, true);
  const std::string whole = npz(members(sample(12)), compress);
  REQUIRE(read(whole).matrix == sample(12));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    INFO("cut to " << n << " bytes");
    CHECK_FALSE(fault(whole.substr(0, n)).empty());
  }
}

TEST_CASE("npz: a changed byte is refused, unless it says nothing of the matrix") {
  const std::string whole = npz(members(sample(12)));
  // Versions, times, attributes, and flags that change nothing for us.
  std::set<std::size_t> idle;
  for (const char* name : names) {
    for (const std::size_t field : {4, 5, 6, 7, 10, 11, 12, 13}) idle.insert(header_of(whole, name) + field);
    for (const std::size_t field : {4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 36, 37, 38, 39, 40, 41})
      idle.insert(entry_of(whole, name) + field);
  }
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int flip : {0x01, 0x40, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      INFO("byte " << i << " flipped by " << flip);
      const Reading got = read(bytes);
      if (got.fault.empty()) {
        CHECK(idle.count(i) == 1);
        CHECK(got.matrix == sample(12));
      } else {
        CHECK_THAT(got.fault, Catch::StartsWith("m.npz: "));
      }
    }
}

TEST_CASE("npz: random mutations never give another matrix") {
  const auto good = sample(60, 40);
  const int kind = GENERATE(0, 1, 2);
  const std::string whole = kind == 0   ? npz(members(good))
                            : kind == 1 ? npz(members(good), true)
                                        : npz_of_writer(good);
  REQUIRE(read(whole, 40).matrix == good);
  int refused = 0;
  mutate(whole, 250, static_cast<std::uint64_t>(kind), [&](const std::string& bytes) {
    INFO("kind " << kind);
    const Reading got = read(bytes, 40);
    if (got.fault.empty()) {
      CHECK(got.matrix == good);
    } else {
      CHECK_THAT(got.fault, Catch::StartsWith("m.npz: "));
      ++refused;
    }
  });
  CHECK(refused > 200);
}

TEST_CASE("npz: a wrong checksum names file, member and both sums") {
  const bool compress = GENERATE(false, true);
  const std::string whole = npz(members(sample(3000)), compress);
  for (const char* name : names) {
    std::string bytes = whole;
    const std::uint64_t right = get(bytes, entry_of(bytes, name) + 16, 4);
    const std::uint64_t wrong = right ^ 0x10;
    set(bytes, header_of(bytes, name) + 14, wrong, 4);
    set(bytes, entry_of(bytes, name) + 16, wrong, 4);
    CHECK_THAT(fault(bytes), Catch::StartsWith(std::string("m.npz: ") + name + ": ") &&
                                 Catch::Contains("checksum (CRC-32)") &&
                                 Catch::Contains(fmt::format("{:08x}", right)) &&
                                 Catch::Contains(fmt::format("{:08x}", wrong)));
  }
}

TEST_CASE("npz: the last byte of every stored member is covered, also of empty ones") {
  Csr<> empty;
  empty.cols = 50;
  for (const Csr<>& m : {sample(3000), empty, Csr<>{50, {0, 0, 0}, {}, {}}}) {
    const std::string whole = npz(members(m));
    REQUIRE(read(whole).matrix == m);
    for (const char* name : names) {
      std::string bytes = whole;
      const std::size_t last = data_of(bytes, name) + get(bytes, header_of(bytes, name) + 22, 4) - 1;
      bytes[last] = static_cast<char>(bytes[last] ^ 1);
      INFO(name);
      CHECK_FALSE(fault(bytes).empty());
    }
  }
}

TEST_CASE("npz: what changes while it is read is refused, on every pass") {
  const bool compress = GENERATE(false, true);
  const auto m = sample(30'000);
  const std::string whole = npz(members(m), compress);
  const auto file = std::make_shared<ChangingFile>(whole);
  const auto source = io::detail::open_csr(file, ScalarType::int32, ScalarType::float64, {});
  CHECK(drain(*source, 50, {1000}) == m);
  for (const char* name : {"data.npy", "indices.npy", "indptr.npy"}) {
    INFO(name);
    const std::size_t header = header_of(whole, name);
    // Near the end of the member, and in its NPY header, which was read when the file was opened.
    for (const std::size_t at :
         {data_of(whole, name) + get(whole, header + 18, 4) * 9 / 10, data_of(whole, name) + 40}) {
      source->rewind();
      SourceChunk chunk;
      REQUIRE(source->next({1000}, chunk));
      file->flip(at);
      // What was changed behind the reader's back is found by the next pass.
      const bool ahead = !compress && at > data_of(whole, name) + 40;
      if (ahead) CHECK_THROWS_AS(drain(*source, 50, {1000}), DataError);
      const auto pass = [&] {
        source->rewind();
        drain(*source, 50, {1000});
      };
      CHECK_THROWS_AS(pass(), DataError);
      file->flip(at);
      source->rewind();
      CHECK(drain(*source, 50, {1000}) == m);
    }
  }
}

TEST_CASE("npz: a zip file that could be read in two ways is refused") {
  struct Case {
    const char* what;
    std::function<void(std::string&)> change;
    const char* message;
  };
  const auto header = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, header_of(z, "data.npy") + field, value, bytes); };
  };
  const auto entry = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, entry_of(z, "data.npy") + field, value, bytes); };
  };
  const auto both = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) {
      add(z, header_of(z, "data.npy") + field, value, bytes);
      add(z, entry_of(z, "data.npy") + field + 2, value, bytes);
    };
  };
  const auto end = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, end_record(z) + field, value, bytes); };
  };
  const Case cases[] = {
      {"header: encrypted", header(6, 1, 2), "disagree on the encryption: yes and no"},
      {"header: strongly encrypted", header(6, 0x40, 2), "disagree on the encryption"},
      {"directory: encrypted", entry(8, 1, 2), "data.npy is encrypted"},
      {"directory: names hidden", entry(8, 0x2000, 2), "data.npy is encrypted"},
      {"both: encrypted", both(6, 1, 2), "data.npy is encrypted"},
      {"header: method", header(8, 1, 2), "disagree on the method"},
      {"directory: method", entry(10, 1, 2), "compressed by method"},
      {"both: method", both(8, 4, 2), "compressed by method"},
      {"header: checksum", header(14, 1, 4), "disagree on the checksum"},
      {"directory: checksum", entry(16, 1, 4), "disagree on the checksum"},
      {"header: compressed size", header(18, 1, 4), "disagree on the compressed size"},
      {"directory: compressed size", entry(20, 1, 4), "disagree on the compressed size"},
      {"header: size", header(22, 1, 4), "disagree on the size"},
      {"directory: size", entry(24, 1, 4), "disagree on the size"},
      {"header: sizes after the data", header(6, 8, 2), "disagree on the place of the sizes"},
      {"directory: sizes after the data", entry(8, 8, 2), "disagree on the place of the sizes"},
      {"header: name", header(30, 1, 1), "another name"},
      {"directory: name", entry(46, 1, 1), "another name"},
      {"header: extra fields", header(28, 4, 2), "extra fields of data.npy are damaged"},
      {"directory: disk", entry(34, 1, 2), "lies on another disk"},
      {"directory: offset", entry(42, 1, 4), "no member header for data.npy"},
      {"both: into the next member",
       [](std::string& z) {
         for (const std::size_t field : {18, 22}) add(z, header_of(z, "data.npy") + field, 1, 4);
         for (const std::size_t field : {20, 24}) add(z, entry_of(z, "data.npy") + field, 1, 4);
       },
       "data.npy and format.npy overlap"},
      {"both: a name with a zero byte",
       [](std::string& z) {
         set(z, header_of(z, "data.npy") + 35, 0, 1);
         set(z, z.rfind("data.npy") + 5, 0, 1);
       },
       "zero byte"},
      {"end: this disk", end(4, 1, 2), "several disks"},
      {"end: the directory's disk", end(6, 1, 2), "several disks"},
      {"end: another, but the same disk", [](std::string& z) { set(z, end_record(z) + 4, 0x00010001, 4); },
       "several disks"},
      {"end: entries on this disk", end(8, 1, 2), "several disks"},
      {"end: one entry less", [](std::string& z) { set(z, end_record(z) + 8, 0x00040004, 4); },
       "after the last of 4 entries"},
      {"end: one entry more", [](std::string& z) { set(z, end_record(z) + 8, 0x00060006, 4); },
       "directory entry 6 of 6 is damaged"},
      {"end: directory too short", end(12, std::uint64_t(-1), 4), "its directory ends at byte"},
      {"end: directory too long", end(12, 1, 4), "its directory lies outside the file"},
      {"end: directory elsewhere", end(16, std::uint64_t(-1), 4), "its directory ends at byte"},
      {"a byte before the end record", [](std::string& z) { z.insert(end_record(z), 1, '\0'); },
       "its directory ends at byte"},
      {"a byte after the end record", [](std::string& z) { z += '\0'; }, "is not the end of the file"},
      {"an end record in the comment",
       [](std::string& z) {
         const std::string inner = z.substr(end_record(z));
         set(z, end_record(z) + 20, inner.size() + 1, 2);
         z += inner + "x";
       },
       "is not the end of the file"},
  };
  for (const bool compress : {false, true})
    for (const Case& c : cases) {
      INFO(c.what << (compress ? ", compressed" : ", stored"));
      std::string bytes = npz(members(sample(100)), compress);
      c.change(bytes);
      CHECK_THAT(fault(bytes), Catch::StartsWith("m.npz: ") && Catch::Contains(c.message));
    }
}

TEST_CASE("npz: the zip64 records of a file agree with the others") {
  const auto good = sample(100);
  struct Case {
    const char* what;
    std::function<void(std::string&)> change;
    const char* message;
  };
  const auto record = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, z.rfind("PK\x06\x06") + field, value, bytes); };
  };
  const auto locator = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, z.rfind("PK\x06\x07") + field, value, bytes); };
  };
  const auto end = [](std::size_t field, std::uint64_t value, int bytes) {
    return [=](std::string& z) { add(z, end_record(z) + field, value, bytes); };
  };
  const Case cases[] = {
      {"record: its length", record(4, 1, 8), "does not end where"},
      {"record: this disk", record(16, 1, 4), "several disks"},
      {"record: the directory's disk", record(20, 1, 4), "several disks"},
      {"record: entries on this disk", record(24, 1, 8), "several disks"},
      {"record: bytes", record(40, 1, 8), "disagree"},
      {"record: offset", record(48, 1, 8), "its directory lies outside the file"},
      {"record: offset in front", record(48, std::uint64_t(-1), 8), "its directory ends at byte"},
      {"locator: disk", locator(4, 1, 4), "several disks"},
      {"locator: disks", locator(16, 1, 4), "several disks"},
      {"locator: place", locator(8, std::uint64_t(-1), 8), "end-of-directory record is missing"},
      {"locator: outside", locator(8, std::uint64_t{1} << 62, 8), "points outside the file"},
      {"end: entries", [](std::string& z) { set(z, end_record(z) + 8, 0x00040004, 4); }, "disagree"},
      {"end: bytes", end(12, 1, 4), "disagree"},
      {"end: offset", [](std::string& z) { set(z, end_record(z) + 16, 7, 4); }, "disagree"},
      {"header: size", [](std::string& z) { add(z, header_of(z, "data.npy") + 42, 1, 8); },
       "disagree on the size"},
      {"header: no zip64 sizes", [](std::string& z) { set(z, header_of(z, "data.npy") + 38, 9, 2); },
       "disagree on the compressed size"},
      {"directory: offset", [](std::string& z) { add(z, entry_of(z, "data.npy") + 74, 1, 8); },
       "no member header for data.npy"},
  };
  const std::string whole = npz_of_writer(good);
  REQUIRE(read(whole).matrix == good);
  for (const Case& c : cases) {
    INFO(c.what);
    std::string bytes = whole;
    c.change(bytes);
    CHECK_THAT(fault(bytes), Catch::StartsWith("m.npz: ") && Catch::Contains(c.message));
  }
}

TEST_CASE("npz: a file written to a pipe, whose headers have no sizes, is read") {
  const bool compress = GENERATE(false, true);
  std::string bytes = npz(members(sample(100)), compress);
  for (const char* name : names) {
    for (const std::size_t flags : {header_of(bytes, name) + 6, entry_of(bytes, name) + 8})
      set(bytes, flags, 8, 2);
    for (const std::size_t field : {14, 18, 22}) set(bytes, header_of(bytes, name) + field, 0, 4);
  }
  CHECK(read(bytes).matrix == sample(100));
}

TEST_CASE("npz: two members of one name are refused") {
  const bool compress = GENERATE(false, true);
  for (const char* twice : names) {
    Zip zip(compress);
    for (const auto& [name, data] : members(sample(100))) zip.add(name, data);
    zip.add(twice, members(sample(100)).at(twice));
    CHECK_THAT(fault(zip.bytes()), Catch::Contains(std::string("two members are called ") + twice));
  }
  // NumPy would read this one.
  Members both = members(sample(100));
  both["data"] = npy(std::vector<double>(sample(100).values.size()));
  CHECK_THAT(fault(npz(both, compress)),
             Catch::Contains("there is a member data where data.npy is expected"));
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
      {"entries without rows",
       [](Members& m, Csr<>&) {
         m["shape.npy"] = npy(std::vector<std::int64_t>{0, 50});
         m["indptr.npy"] = npy(std::vector<std::int32_t>{0});
       },
       "ends with 0, but indices.npy has"},
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
      {"complex", [](Members& m, Csr<>&) { m["data.npy"] = npy("<c16", "(0,)", ""); },
       "is not a real number"},
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
