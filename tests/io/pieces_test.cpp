// Pieces of a source (SourceBase::split): handed out in order, read by several threads in any order, completed in
// order; and what is found damaged, where.

#include "support/catch.h"

#include <algorithm>
#include <random>
#include <thread>

#include <anabranch/io.h>

#include "items.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;

namespace {

using Pieces = std::vector<std::unique_ptr<SourcePiece>>;

Pieces split(SourceBase& source, const Limit& limit) {
  Pieces pieces;
  while (auto piece = source.split(limit)) pieces.push_back(std::move(piece));
  return pieces;
}

/// Reads all pieces on four threads, the last ones first, and completes them in order.
std::vector<SourceChunk> read(Pieces& pieces) {
  std::vector<SourceChunk> chunks(pieces.size());
  std::vector<std::exception_ptr> failed(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        try {
          for (std::size_t i = pieces.size(); i-- > 0;)
            if (i % 4 == t) pieces[i]->read(chunks[i]);
        } catch (...) {
          failed[t] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failed)
    if (failure) std::rethrow_exception(failure);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK(pieces[i]->items() == chunks[i].items);
    pieces[i]->complete();
  }
  return chunks;
}

/// Hands out chunks that are there already.
class Chunks final : public SourceBase {
 public:
  Chunks(const SourceInfo& info, std::vector<SourceChunk> chunks) : info_(info), chunks_(std::move(chunks)) {}
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit&, SourceChunk& chunk) override {
    if (at_ == chunks_.size()) return false;
    chunk = std::move(chunks_[at_++]);
    return true;
  }

 private:
  SourceInfo info_;
  std::vector<SourceChunk> chunks_;
  std::size_t at_ = 0;
};

template <class I, class T>
void check_pieces(SourceBase& source, const Csr<I, T>& m) {
  for (const Limit& limit :
       {Limit{}, Limit{1}, Limit{7}, Limit{INT64_MAX, 500}, Limit{INT64_MAX, INT64_MAX, 13}}) {
    source.rewind();
    Pieces pieces = split(source, limit);
    Chunks chunks(source.info(), read(pieces));
    CHECK(drain<I, T>(chunks, 50, limit) == m);
  }
  // A pass that is given up, and one piece by piece with `next`.
  source.rewind();
  (void)source.split({3});
  source.rewind();
  CHECK(drain<I, T>(source, 50, {64}) == m);
  source.rewind();
  const ReadItems items = items_of(source);
  source.rewind();
  CHECK(items_in_given_memory(source) == items);
}

}  // namespace

TEST_CASE(
    "pieces of an .npz: stored ones are read by several threads, of others each is read when it is handed "
    "out") {
  TemporaryDirectory dir;
  const auto m = sample<std::int32_t, double>(1000);
  for (const bool compress : {false, true}) {
    const std::string path = dir / (compress ? "deflated.npz" : "stored.npz");
    write_file(path, npz(members(m), compress));
    auto source = io::open_csr<std::int32_t, double>(path);
    CHECK(source.info().splits == !compress);
    check_pieces(*source.erased(), m);
  }
  auto converted = io::open_csr<std::int64_t, float>(dir / "stored.npz", {.convert = true});
  CHECK(converted.info().splits);
  check_pieces(*converted.erased(), sample<std::int64_t, float>(1000));
}

TEST_CASE("the checksum of an array is put together of its pieces") {
  TemporaryDirectory dir;
  const std::string path = dir / "m.npz";
  const auto m = sample<std::int32_t, double>(1000);
  std::string bytes = npz(members(m), false);
  const std::string values = raw(m.values);
  const std::size_t at = bytes.find(values);
  REQUIRE(at != std::string::npos);
  bytes[at + values.size() / 2] = static_cast<char>(bytes[at + values.size() / 2] ^ 1);
  write_file(path, bytes);
  auto source = io::open_csr<std::int32_t, double>(path);
  Pieces pieces = split(*source.erased(), {100});
  REQUIRE(pieces.size() == 10);
  SourceChunk chunk;
  for (auto& piece : pieces) piece->read(chunk);
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) pieces[i]->complete();
  CHECK_THROWS_WITH(pieces.back()->complete(), Contains("checksum") && Contains("data.npy"));
}

TEST_CASE("a damaged entry is found by whoever reads its piece") {
  TemporaryDirectory dir;
  const std::string path = dir / "m.npz";
  auto m = sample<std::int32_t, double>(1000);
  const std::size_t at = m.indices.size() / 2;
  m.indices[at] = 50;
  const auto row = std::upper_bound(m.indptr.begin(), m.indptr.end(), static_cast<std::int32_t>(at)) -
                   m.indptr.begin() - 1;
  write_file(path, npz(members(m), false));
  auto source = io::open_csr<std::int32_t, double>(path);
  Pieces pieces = split(*source.erased(), {100});
  const std::string column = "is column 50, outside [0, 50), in row " + std::to_string(row),
                    entry = "entry " + std::to_string(at);
  CHECK_THROWS_WITH(read(pieces), Contains(column) && Contains(entry));
  // Chunk by chunk, what is compressed, too.
  for (const bool compress : {false, true}) {
    write_file(path, npz(members(m), compress));
    auto whole = io::open_csr<std::int32_t, double>(path);
    SourceChunk chunk;
    const auto read_all = [&] {
      while (whole.erased()->next({7}, chunk)) {
      }
    };
    CHECK_THROWS_WITH(read_all(), Contains(column) && Contains(entry));
  }
}
