#include <cstdint>
#include <deque>
#include <type_traits>

#include "agree.h"
#include "arrow_given.h"

// Whose memory the elements of Arrow batches are: addresses are compared.
namespace anabranch::testing {
namespace {

using V = Vector<std::int32_t>;

const std::vector<std::int32_t> some{10, 11, 12, 13, 14, 15, 16, 17};

/// Passes a stream on, and holds its batches as long as it lives, whoever releases them.
class Watched {
 public:
  explicit Watched(const ArrowArrayStream& stream) : inner_(stream) {
    outer_.private_data = this;
    outer_.get_schema = [](ArrowArrayStream* s, ArrowSchema* out) { return of(s).get_schema(&of(s), out); };
    outer_.get_next = [](ArrowArrayStream* s, ArrowArray* out) {
      return static_cast<Watched*>(s->private_data)->get_next(*out);
    };
    outer_.get_last_error = [](ArrowArrayStream* s) { return of(s).get_last_error(&of(s)); };
    outer_.release = [](ArrowArrayStream* s) {
      of(s).release(&of(s));
      s->release = nullptr;
    };
  }
  ~Watched() {
    for (ArrowArray& batch : batches_) batch.release(&batch);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  ArrowArrayStream* stream() { return &outer_; }
  /// The last one that was asked for.
  const ArrowArray& batch() const { return batches_.back(); }

 private:
  static ArrowArrayStream& of(ArrowArrayStream* outer) {
    return static_cast<Watched*>(outer->private_data)->inner_;
  }
  int get_next(ArrowArray& out) {
    const int code = inner_.get_next(&inner_, &out);
    if (code != 0 || !out.release) return code;
    batches_.push_back(out);
    out.release = [](ArrowArray* released) { released->release = nullptr; };
    return code;
  }

  ArrowArrayStream inner_, outer_{};
  std::deque<ArrowArray> batches_;
};

/// The source of such a stream, two rows at a time.
template <class A>
class Chunks {
 public:
  explicit Chunks(const ArrowArrayStream& stream)
      : watched_(stream), source_(io::from_arrow<A>(watched_.stream())) {}
  explicit Chunks(const std::vector<Given>& batches) : Chunks(stream_of(batches)) {}

  const std::vector<ArrayChunk>& next() {
    REQUIRE(source_.erased()->next({2}, chunk_));
    return chunk_.arrays;
  }
  const ArrowArray& batch() const { return watched_.batch(); }

 private:
  Watched watched_;
  Source<A> source_;
  SourceChunk chunk_;
};

/// Where an element of a buffer lies.
template <class T>
const void* place(const ArrowArray& array, int buffer, std::int64_t element) {
  return static_cast<const T*>(array.buffers[buffer]) + element;
}

/// Whether that is within `count` elements of a buffer.
template <class T>
bool lies_in(const void* at, const ArrowArray& array, int buffer, std::int64_t count) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return address >= reinterpret_cast<std::uintptr_t>(place<T>(array, buffer, 0)) &&
         address < reinterpret_cast<std::uintptr_t>(place<T>(array, buffer, count));
}

TEST_CASE("arrow in: lists, numbers, strings and fixed-size lists are read where the producer has them",
          "[once]") {
  const auto lists = [](const auto& offsets) {
    using P = std::remove_cvref_t<decltype(offsets[0])>;
    Chunks<V> chunks({sliced(list_of(offsets, sliced(numbers_of(some, "i"), 1, 7)), 1, 4)});
    for (const std::int64_t first : {0, 2}) {
      const ArrayChunk& rows = chunks.next()[0];
      CHECK(rows.offsets.get() == place<P>(chunks.batch(), 1, 1 + first));
      CHECK(rows.data[0].get() == place<std::int32_t>(*chunks.batch().children[0], 1, 1));
    }
  };
  lists(std::vector<std::int32_t>{0, 1, 3, 3, 4, 6});
  lists(std::vector<std::int64_t>{0, 1, 3, 3, 4, 6});
  Chunks<Scalar<std::int32_t>> numbers({sliced(numbers_of(some, "i"), 2, 4)});
  for (const std::int64_t first : {0, 2}) {
    const void* const begin = numbers.next()[0].data[0].get();  // before batch()
    CHECK(begin == place<std::int32_t>(numbers.batch(), 1, 2 + first));
  }
  Chunks<Vector<std::uint8_t>> strings(
      {Given{.format = "u",
             .length = 4,
             .buffers = {std::nullopt, bytes_of(std::vector<std::int32_t>{0, 2, 2, 5, 6, 7}), "hi you!"},
             .offset = 1}});
  for (const std::int64_t first : {0, 2}) {
    const ArrayChunk& rows = strings.next()[0];
    CHECK(rows.offsets.get() == place<std::int32_t>(strings.batch(), 1, 1 + first));
    CHECK(rows.data[0].get() == place<char>(strings.batch(), 2, 0));
  }
  Chunks<V> pairs({fixed_of(2, sliced(numbers_of(some, "i"), 1, 7), 3)});
  for (const std::int64_t first : {0, 2}) {
    const void* const begin = pairs.next()[0].data[0].get();
    CHECK(begin == place<std::int32_t>(*pairs.batch().children[0], 1, 1 + 2 * first));
  }
}

TEST_CASE("arrow in: the fields of structs and the columns of a batch are read where they are", "[once]") {
  using Entry = std::tuple<std::int32_t, double>;
  const Given values = numbers_of(std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5}, "g");
  const Given entries = struct_of({numbers_of(some, "i"), values}, 8);
  Chunks<std::tuple<Vector<Entry>, Scalar<std::int32_t>>> chunks(
      {struct_of({list_of(std::vector<std::int32_t>{0, 2, 3, 3, 6}, entries), numbers_of(some, "i")}, 4)});
  for (const std::int64_t first : {0, 2}) {
    const auto& columns = chunks.next();
    const ArrowArray& list = *chunks.batch().children[0];
    const ArrowArray& structs = *list.children[0];
    CHECK(columns[0].offsets.get() == place<std::int32_t>(list, 1, first));
    CHECK(columns[0].data[0].get() == place<std::int32_t>(*structs.children[0], 1, 0));
    CHECK(columns[0].data[1].get() == place<double>(*structs.children[1], 1, 0));
    CHECK(columns[1].data[0].get() == place<std::int32_t>(*chunks.batch().children[1], 1, first));
  }
}

TEST_CASE("arrow in: bools, what is not aligned and offsets of lists of lists are copied, the rest is not",
          "[once]") {
  const std::vector<std::int32_t> offsets{0, 2, 5, 8};
  const auto elements = [](const auto& chunks) -> const ArrowArray& { return *chunks.batch().children[0]; };
  const Given bits{.format = "b", .length = 8, .buffers = {std::nullopt, std::string("\xb2")}};
  Chunks<Vector<bool>> bools({list_of(offsets, bits)});
  const ArrayChunk& of_bools = bools.next()[0];
  CHECK(of_bools.offsets.get() == place<std::int32_t>(bools.batch(), 1, 0));
  CHECK_FALSE(lies_in<char>(of_bools.data[0].get(), elements(bools), 1, 1));

  Chunks<V> other_elements({list_of(offsets, skewed(numbers_of(some, "i")))});
  const ArrayChunk& of_other_elements = other_elements.next()[0];
  CHECK(of_other_elements.offsets.get() == place<std::int32_t>(other_elements.batch(), 1, 0));
  CHECK_FALSE(lies_in<char>(of_other_elements.data[0].get(), elements(other_elements), 1, 8 * 4));

  Chunks<V> other_offsets({skewed(list_of(offsets, numbers_of(some, "i")))});
  const ArrayChunk& of_other_offsets = other_offsets.next()[0];
  CHECK_FALSE(lies_in<char>(of_other_offsets.offsets.get(), other_offsets.batch(), 1, 4 * 4));
  CHECK(of_other_offsets.data[0].get() == place<std::int32_t>(elements(other_offsets), 1, 0));

  Chunks<Matrix<std::int32_t>> matrices(
      {list_of(std::vector<std::int32_t>{0, 1, 1, 4}, fixed_of(2, numbers_of(some, "i"), 4))});
  const ArrayChunk& of_matrices = matrices.next()[0];
  CHECK_FALSE(lies_in<std::int32_t>(of_matrices.offsets.get(), matrices.batch(), 1, 4));
  CHECK(of_matrices.data[0].get() == place<std::int32_t>(*elements(matrices).children[0], 1, 0));
}

TEST_CASE("arrow in: results that are rows as they came share no memory with the batch", "[once]") {
  const std::vector<Given> batches{list_of(std::vector<std::int32_t>{0, 3, 3, 4, 8}, numbers_of(some, "i"))};
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    const RunOptions options{.backend = backend};
    const auto shares = [](const V& result, const Watched& watched) {
      return lies_in<std::int32_t>(result.data(), *watched.batch().children[0], 1, 8);
    };
    {
      Watched watched(stream_of(batches));
      const V all = run(consume(elements(stream_in(io::from_arrow<V>(watched.stream())))), options);
      require_same(all, V{10, 11, 12, 13, 14, 15, 16, 17});
      CHECK_FALSE(shares(all, watched));
    }
    Watched watched(stream_of(batches));
    for (const V& row : stream_out(stream_in(io::from_arrow<V>(watched.stream())), options))
      if (row.size() > 0) CHECK_FALSE(shares(row, watched));
  }
  CHECK(alive == 0);
}

TEST_CASE("arrow out: who reads our batches again has them where they are", "[once]") {
  const auto items = produce(10, [](auto i) { return fill(i % 4 + 1, cast<double>(i)); });
  ArrowArrayStream stream;
  io::to_arrow(items, &stream, {.run = {.scheduler = "fixed:5"}});
  Chunks<Vector<double>> chunks(stream);
  for (const std::int64_t first : {0, 2, 4, 0, 2, 4}) {  // of two batches
    const ArrayChunk& rows = chunks.next()[0];
    const ArrowArray& list = *chunks.batch().children[0];
    REQUIRE(list.length == 5);
    CHECK(rows.offsets.get() == place<std::int64_t>(list, 1, first));
    CHECK(rows.data[0].get() == place<double>(*list.children[0], 1, 0));
  }
}

TEST_CASE("arrow out: batches that are kept have memory of their own, in which nothing is written any more",
          "[once]") {
  constexpr std::int64_t count = 200, length = 300;
  const auto items = produce(
      count, [=](auto i) { return generate(length, [=](auto k) { return cast<double>(i * 1000 + k); }); });
  for (const int threads : {1, 2}) {
    ArrowArrayStream stream;
    io::to_arrow(items, &stream, {.run = {.threads = threads, .scheduler = "fixed:7"}});
    std::vector<ArrowArray> batches;
    for (ArrowArray batch; stream.get_next(&stream, &batch) == 0 && batch.release;) batches.push_back(batch);
    stream.release(&stream);
    std::int64_t row = 0, wrong = 0;
    for (const ArrowArray& batch : batches) {
      const auto* values = static_cast<const double*>(batch.children[0]->children[0]->buffers[1]);
      for (const std::int64_t end = row + batch.length; row < end; ++row)
        for (std::int64_t k = 0; k < length; ++k) wrong += *values++ != static_cast<double>(row * 1000 + k);
    }
    CHECK(row == count);
    CHECK(wrong == 0);
    for (ArrowArray& batch : batches) batch.release(&batch);
  }
}

}  // namespace
}  // namespace anabranch::testing
