#include "support/catch.h"

#include <cstring>
#include <thread>

#include <anabranch/io.h>

#include "io/sparse/entry_sorter.h"
#include "io/sparse/sorted_rows.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

template <class I, class T>
void round_trip(bool compress) {
  TemporaryDirectory dir;
  const auto m = sample<I, T>(1000);
  const std::string path = dir / "m.npz";
  write_file(path, npz(members(m), compress));

  const io::CsrHeader header = io::inspect_matrix(path);
  CHECK(header.format == (compress ? io::MatrixFormat::npz_deflated : io::MatrixFormat::npz_stored));
  CHECK(header.rows == 1000);
  CHECK(header.cols == 50);
  CHECK(header.nnz == static_cast<std::int64_t>(m.indices.size()));
  CHECK(header.index == detail::scalar_type<I>);
  CHECK(header.value == detail::scalar_type<T>);

  auto source = io::open_csr<I, T>(path);
  CHECK(source.info().items == 1000);
  CHECK(source.info().work == header.nnz);
  CHECK(source.info().rewindable);
  CHECK_FALSE(source.info().in_memory);
  CHECK(source.info().arrays[0].ragged());
  CHECK(source.info().arrays[0].offsets == (sizeof(I) == 4 ? OffsetType::int32 : OffsetType::int64));
  for (const Limit& limit :
       {Limit{}, Limit{1}, Limit{7}, Limit{1000}, Limit{INT64_MAX, 500}, Limit{INT64_MAX, INT64_MAX, 13}}) {
    CHECK(drain<I, T>(*source.erased(), 50, limit) == m);
    source.erased()->rewind();
  }
  SourceChunk chunk;
  REQUIRE(source.erased()->next({3}, chunk));
  source.erased()->rewind();
  CHECK(drain<I, T>(*source.erased(), 50, {64}) == m);
  CHECK_FALSE(source.erased()->next({}, chunk));
}

}  // namespace

TEST_CASE("npz: all index and value types, stored and compressed") {
  const bool compress = GENERATE(false, true);
  round_trip<std::int32_t, float>(compress);
  round_trip<std::int32_t, double>(compress);
  round_trip<std::int64_t, float>(compress);
  round_trip<std::int64_t, double>(compress);
}

TEST_CASE("npz: larger than every internal buffer") {
  const bool compress = GENERATE(false, true);
  TemporaryDirectory dir;
  const auto m = sample(150'000, 1'000'000);
  write_file(dir / "m.npz", npz(members(m), compress));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz");
  CHECK((drain(*source.erased(), m.cols) == m));
  source.erased()->rewind();
  CHECK((drain(*source.erased(), m.cols, {10'000}) == m));
  auto wide = io::open_csr<std::int64_t, float>(dir / "m.npz", {.convert = true});
  const auto converted = drain<std::int64_t, float>(*wide.erased(), m.cols, {99'999});
  CHECK(std::equal(m.indices.begin(), m.indices.end(), converted.indices.begin(), converted.indices.end()));
  CHECK(std::equal(m.values.begin(), m.values.end(), converted.values.begin(), converted.values.end(),
                   [](double a, float b) { return static_cast<float>(a) == b; }));
}

TEST_CASE("npz: empty matrices") {
  TemporaryDirectory dir;
  const std::int64_t rows = GENERATE(0, 1, 100'000);
  const bool compress = GENERATE(false, true);
  Csr<> m;
  m.indptr.assign(static_cast<std::size_t>(rows) + 1, 0);
  write_file(dir / "m.npz", npz(members(m), compress));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz");
  CHECK((drain(*source.erased()) == m));
}

TEST_CASE("npz: chunks end at the first limit reached") {
  TemporaryDirectory dir;
  Csr<> m;
  m.cols = 10;
  for (int length : {2, 3, 0, 0, 9, 1}) {
    for (int k = 0; k < length; ++k) {
      m.indices.push_back(k);
      m.values.push_back(k);
    }
    m.indptr.push_back(static_cast<std::int32_t>(m.indices.size()));
  }
  write_file(dir / "m.npz", npz(members(m)));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz");
  const auto sizes = [&](const Limit& limit) {
    std::vector<std::int64_t> out;
    SourceChunk chunk;
    source.erased()->rewind();
    while (source.erased()->next(limit, chunk)) out.push_back(chunk.items);
    return out;
  };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes({}) == Sizes{6});
  CHECK(sizes({4}) == Sizes{4, 2});
  CHECK(sizes({INT64_MAX, INT64_MAX, 5}) == Sizes{4, 1, 1});
  CHECK(sizes({INT64_MAX, INT64_MAX, 4}) == Sizes{1, 3, 1, 1});
  CHECK(sizes({INT64_MAX, INT64_MAX, 0}) == Sizes{1, 1, 2, 1, 1});
  // Two rows of 5 entries in all: 3 offsets of 4 bytes, 5 entries of 12.
  CHECK(sizes({INT64_MAX, 72, INT64_MAX}) == Sizes{2, 2, 1, 1});
  CHECK(sizes({INT64_MAX, 71, INT64_MAX}) == Sizes{1, 3, 1, 1});
  CHECK(sizes({INT64_MAX, 0, INT64_MAX}) == Sizes{1, 1, 1, 1, 1, 1});
}

TEST_CASE("npz: a chunk stays valid while others are read, and its buffers are used again") {
  TemporaryDirectory dir;
  const auto m = sample(4000);
  write_file(dir / "m.npz", npz(members(m)));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz");
  SourceBase& base = *source.erased();

  SourceChunk kept;
  REQUIRE(base.next({110}, kept));
  const auto* values = static_cast<const double*>(kept.arrays[0].data[1].get());
  const void* second = nullptr;
  for (int i = 0; i < 20; ++i) {
    SourceChunk chunk;
    REQUIRE(base.next({110}, chunk));
    const void* here = chunk.arrays[0].data[1].get();
    CHECK(reinterpret_cast<std::uintptr_t>(here) % 64 == 0);
    CHECK(here != static_cast<const void*>(values));
    if (second) CHECK(here == second);
    second = here;
    // The last owner may be another thread.
    std::jthread([moved = std::move(chunk)] {}).join();
  }
  CHECK(std::memcmp(values, m.values.data(), static_cast<std::size_t>(kept.work) * sizeof(double)) == 0);

  // Chunks may outlive the source.
  SourceChunk last;
  REQUIRE(base.next({1}, last));
  {
    auto gone = std::move(source);
  }
  CHECK(std::memcmp(values, m.values.data(), static_cast<std::size_t>(kept.work) * sizeof(double)) == 0);
}

TEST_CASE("npz: other types are refused unless conversion is asked for") {
  TemporaryDirectory dir;
  const auto m = sample<std::int64_t, float>(20);
  write_file(dir / "m.npz", npz(members(m)));
  CHECK_THROWS_WITH((io::open_csr<std::int32_t, double>(dir / "m.npz")),
                    Catch::Contains("(int64, float)") && Catch::Contains("(int32, double)"));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz", {.convert = true});
  const auto got = drain(*source.erased(), 50);
  CHECK(std::equal(got.indices.begin(), got.indices.end(), m.indices.begin(), m.indices.end()));
  CHECK(std::equal(got.values.begin(), got.values.end(), m.values.begin(), m.values.end()));

  auto wide = members(m);
  wide["shape.npy"] = npy(std::vector<std::int64_t>{20, std::int64_t{1} << 40});
  write_file(dir / "m.npz", npz(wide));
  CHECK_THROWS_WITH((io::open_csr<std::int32_t, double>(dir / "m.npz", {.convert = true})),
                    Catch::Contains("int32"));
}

TEST_CASE("npz: integer values are read as they are, or as floating-point numbers") {
  const TemporaryDirectory dir;
  Csr<std::int32_t, std::int64_t> m;
  m.cols = 5;
  m.indptr = {0, 2};
  m.indices = {1, 3};
  m.values = {7, 4'294'967'297};
  write_file(dir / "m.npz", npz(members(m)));
  CHECK((drain<std::int32_t, std::int64_t>(*io::open_csr<std::int32_t, std::int64_t>(dir / "m.npz").erased(),
                                           5) == m));
  const auto read = drain<std::int64_t, double>(
      *io::open_csr<std::int64_t, double>(dir / "m.npz", {.convert = true}).erased(), 5);
  CHECK(read.values == std::vector<double>{7, 4'294'967'297});
  CHECK_THROWS_WITH((io::open_csr<std::int32_t, std::int32_t>(dir / "m.npz", {.convert = true})),
                    Catch::Contains("(int32, int64) cannot be converted to (int32, int32)"));
}

TEST_CASE("sorted rows: columns of the other type") {
  const TemporaryDirectory dir;
  const std::string folder = dir / "";
  const auto columns_as = [&]<class Column, class Index>(Column, Index) {
    io::detail::SortedRows rows(&folder, "m", {ScalarType::int32, anabranch::detail::scalar_type<Column>, {}},
                                2, 600);
    std::vector<io::detail::Entry<Index>> entries;
    for (int i = 0; i < 600; ++i) entries.push_back({i / 300, 3 * i, 0.5});
    rows.append(std::span<const io::detail::Entry<Index>>(entries));
    rows.finish();
    const auto source = rows.source(1 << 20);
    SourceChunk chunk;
    REQUIRE(source->next({}, chunk));
    CHECK(chunk.items == 2);
    REQUIRE(chunk.work == 600);
    const auto* columns = static_cast<const Column*>(chunk.arrays[0].data[0].get());
    for (int i = 0; i < 600; ++i) CHECK(columns[i] == 3 * i);
  };
  columns_as(std::int32_t{}, std::int32_t{});
  columns_as(std::int32_t{}, std::int64_t{});
  columns_as(std::int64_t{}, std::int32_t{});
  columns_as(std::int64_t{}, std::int64_t{});
}

TEST_CASE("npz: a row that does not fit into memory is refused before it is read") {
  TemporaryDirectory dir;
  Csr<> m;
  m.cols = 100'000;
  m.indptr = {0, 1, 100'001};
  m.indices.assign(100'001, 3);
  m.values.assign(100'001, 1.0);
  write_file(dir / "m.npz", npz(members(m)));
  auto source = io::open_csr<std::int32_t, double>(dir / "m.npz", {.memory = 1 << 20});
  SourceChunk chunk;
  REQUIRE(source.erased()->next({}, chunk));
  CHECK(chunk.items == 1);
  CHECK_THROWS_AS(source.erased()->next({}, chunk), ResourceError);
  auto larger = io::open_csr<std::int32_t, double>(dir / "m.npz", {.memory = 2 << 20});
  CHECK((drain(*larger.erased(), m.cols) == m));
}

TEST_CASE("csr_view: views of the user's arrays") {
  const auto m = sample<std::int64_t, double>(300);
  auto source = io::csr_view(m.rows(), m.cols, m.indptr, m.indices, m.values);
  CHECK(source.info().in_memory);
  for (const Limit& limit :
       {Limit{}, Limit{1}, Limit{7}, Limit{INT64_MAX, 500}, Limit{INT64_MAX, INT64_MAX, 13}}) {
    CHECK((drain<std::int64_t, double>(*source.erased(), 50, limit) == m));
    source.erased()->rewind();
  }
  SourceChunk chunk;
  REQUIRE(source.erased()->next({5}, chunk));
  REQUIRE(source.erased()->next({5}, chunk));
  CHECK(chunk.arrays[0].offsets.get() == m.indptr.data() + 5);
  CHECK(chunk.arrays[0].data[0].get() == m.indices.data());
  CHECK(chunk.bytes == 0);

  SECTION("owned arrays are kept") {
    const Vector<std::int64_t> indptr(m.indptr), indices(m.indices);
    auto owned = io::csr_view(m.rows(), m.cols, indptr, indices, Vector<double>(m.values));
    CHECK((drain<std::int64_t, double>(*owned.erased(), 50) == m));
  }
  SECTION("faults are named") {
    auto bad = m;
    const auto view = [&] { return io::csr_view(bad.rows(), bad.cols, bad.indptr, bad.indices, bad.values); };
    bad.indptr[7] = bad.indptr[8] + 1;
    CHECK_THROWS_WITH(view(), Catch::Contains("indptr[8]"));
    bad = m;
    bad.indices[11] = 50;
    CHECK_THROWS_WITH(view(), Catch::Contains("indices[11]"));
    bad = m;
    bad.indices.pop_back();
    CHECK_THROWS_AS(view(), RunError);
    bad = m;
    bad.indptr.pop_back();
    CHECK_THROWS_AS(io::csr_view(m.rows(), m.cols, bad.indptr, bad.indices, bad.values), RunError);
  }
}
