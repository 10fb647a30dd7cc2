#include "support/catch.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>
#include <anabranch/io/arrow.h>

#include "cpu/compiler.h"
#include "every_fault.h"
#include "io/matrix_files.h"
#include "support/filled_pipe.h"
#include "support/memory_source.h"
#include "support/own_kernel_cache.h"

// Programs of every kind, when the system refuses the library something.
namespace fault_test {
namespace {

using namespace anabranch;
using io_test::Csr;
using io_test::TemporaryDirectory;

template <class T>
std::string text(const Vector<T>& v) {
  return {reinterpret_cast<const char*>(v.values().data()), v.values().size_bytes()};
}

const Csr<> matrix = io_test::sample(60);
Vector<double> vector_x() {
  Vector<double> x(Index{50});
  std::iota(x.mutable_data(), x.mutable_data() + 50, 1.0);
  return x;
}

/// While it lives, what this thread asks for is the test's own.
struct Passing {
  Passing() { faults::anabranch_faults_pass(true); }
  ~Passing() { faults::anabranch_faults_pass(false); }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
};

/// Two threads and many chunks, so that reading, computing and writing overlap.
RunOptions busy() {
  RunOptions options;
  options.threads = 2;
  options.scheduler = "fixed:7";
  return options;
}

Acc<Vector<double>> product(const Source<Vector<std::tuple<std::int32_t, double>>>& rows,
                            const Vector<double>& x) {
  return consume(elements(map_seq(
      [=](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, use(x))));
      },
      stream_in(rows))));
}

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (const int n : {5, 0, 64, 1, 0, 130}) {
    Vector<double> row(Index{n});
    std::iota(row.mutable_data(), row.mutable_data() + n, 0.5);
    rows.push_back(row);
  }
  return rows;
}

/// Rows for three chunks of `busy`.
std::vector<Vector<double>> more_rows() {
  std::vector<Vector<double>> rows = some_rows();
  for (int times = 0; times < 2; ++times)
    for (const auto& row : some_rows()) rows.push_back(row);
  return rows;
}

/// What a program writes: the files appear with all of it, or, when it fails,
/// each whole or not at all.
class Written {
 public:
  explicit Written(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  /// What `write` has written, as text.
  template <class Write>
  std::string text_of(Write&& write) {
    try {
      write();
    } catch (...) {
      const Passing passing;
      for (const std::string& path : paths_)
        if (std::filesystem::exists(path)) {
          INFO(path);
          CHECK(io_test::read_file(path) == whole_.at(path));
          std::filesystem::remove(path);
        }
      throw;
    }
    const Passing passing;
    std::string all;
    for (const std::string& path : paths_) {
      whole_[path] = io_test::read_file(path);
      all += whole_[path];
      std::filesystem::remove(path);
    }
    return all;
  }

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::string> whole_;
};

/// What the test itself asks for it passes.
struct Pipe : anabranch::testing::FilledPipe {
  explicit Pipe(const std::string& bytes, const Passing& = Passing())
      : FilledPipe(bytes.data(), bytes.size()) {}
};

/// A structure of Arrow's, released with its owner.
template <class T>
struct Held : T {
  Held() : T{} {}
  ~Held() {
    if (this->release) this->release(this);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

/// Three batches of the same rows as an Arrow stream that asks the system for
/// nothing.
class GivenBatches {
 public:
  GivenBatches() {
    for (const auto& row : some_rows()) {
      values_.insert(values_.end(), row.values().begin(), row.values().end());
      offsets_.push_back(std::ssize(values_));
    }
    columns_schema_.format = "+L";
    columns_schema_.name = "rows";
    columns_schema_.n_children = 1;
    columns_schema_.children = element_schemas_.data();
    element_schema_.format = "g";
    element_schema_.name = "item";
    column_buffers_ = {nullptr, offsets_.data()};
    element_buffers_ = {nullptr, values_.data()};
  }
  /// All that was given has come back.
  ~GivenBatches() {
    const Passing passing;
    CHECK(alive_ == 0);
  }
  GivenBatches(const GivenBatches&) = delete;
  GivenBatches& operator=(const GivenBatches&) = delete;

  void give(ArrowArrayStream& out) {
    out.private_data = this;
    out.get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
      of(stream).make(*schema);
      return 0;
    };
    out.get_next = [](ArrowArrayStream* stream, ArrowArray* batch) {
      *batch = {};
      if (of(stream).left_-- > 0) of(stream).make(*batch);
      return 0;
    };
    out.get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
    out.release = &release<ArrowArrayStream>;
    ++alive_;
  }

 private:
  template <class T>
  static GivenBatches& of(T* given) {
    return *static_cast<GivenBatches*>(given->private_data);
  }
  template <class T>
  static void release(T* given) {
    --of(given).alive_;
    given->release = nullptr;
  }
  template <class T>
  void own(T& out) {
    out.private_data = this;
    out.release = &release<T>;
    ++alive_;
  }
  void make(ArrowSchema& out) {
    out = {};
    out.format = "+s";
    out.name = "";
    out.n_children = 1;
    out.children = column_schemas_.data();
    own(out);
  }
  void make(ArrowArray& out) {
    element_.length = std::ssize(values_);
    element_.n_buffers = 2;
    element_.buffers = element_buffers_.data();
    column_.length = out.length = std::ssize(offsets_) - 1;
    column_.n_buffers = 2;
    column_.buffers = column_buffers_.data();
    column_.n_children = 1;
    column_.children = elements_.data();
    out.n_buffers = 1;
    out.buffers = column_buffers_.data();  // the first is that of no nulls
    out.n_children = 1;
    out.children = columns_.data();
    own(out);
  }

  std::vector<double> values_;
  std::vector<std::int64_t> offsets_{0};
  std::array<const void*, 2> column_buffers_{}, element_buffers_{};
  ArrowSchema columns_schema_{}, element_schema_{};
  ArrowArray column_{}, element_{};
  std::array<ArrowSchema*, 1> column_schemas_{&columns_schema_}, element_schemas_{&element_schema_};
  std::array<ArrowArray*, 1> columns_{&column_}, elements_{&element_};
  int left_ = 3;
  std::atomic<int> alive_ = 0;
};

/// What a stream of ours says when it fails is what the library would have
/// thrown.
void raise(int error, ArrowArrayStream& stream) {
  if (error == 0) return;
  const char* message = stream.get_last_error(&stream);
  if (error == ENOMEM) throw ResourceError(message ? message : "");
  if (error == EIO) throw IoError(message ? message : "");
  throw std::runtime_error(message ? message : "");
}
/// Calls what C would call: nothing may be thrown there.
template <class F>
void ask(F* function, ArrowArrayStream& stream, auto& out) {
  const int error = [&]() noexcept { return function(&stream, &out); }();
  raise(error, stream);
}

/// The elements of the rows that an Arrow stream gives.
std::string elements_of(ArrowArrayStream& stream) {
  std::string all;
  {
    Held<ArrowSchema> schema;
    ask(stream.get_schema, stream, schema);
    all = schema.children[0]->format;
  }
  for (;;) {
    Held<ArrowArray> batch;
    ask(stream.get_next, stream, batch);
    if (!batch.release) return all;
    const ArrowArray& rows = *batch.children[0];
    const auto* offsets = static_cast<const std::int64_t*>(rows.buffers[1]);
    const auto* values = static_cast<const double*>(rows.children[0]->buffers[1]);
    all.append(reinterpret_cast<const char*>(values + offsets[0]),
               reinterpret_cast<const char*>(values + offsets[rows.length]));
  }
}

struct Case {
  const char* name;
  Program program;
};

/// The program is compiled once: what its source keeps of a run that fails, the
/// next one finds.
Program computed_range() {
  const auto rows = std::views::iota(0, 12) | std::views::transform([](int i) {
                      return Vector<double>(Index{3}, {i + 0.5, 2.0 * i, 1.0});
                    });
  return [program = compile(consume(elements(stream_in(rows))))] { return text(program.run(busy())); };
}

/// `folder` holds a.npz (stored), b.npz (deflated), c.mtx, d.txt, f.txt, g.npy and h.npy (in Fortran order), the pair r. No
/// recordings: libsndfile itself does not survive every allocation that fails.
std::vector<Case> programs(const TemporaryDirectory& folder) {
  const auto from_file = [&folder](const char* name) {
    return [path = folder / name, &folder] {
      const auto rows =
          io::open_csr<std::int32_t, double>(path, {.spool_dir = folder.path(), .memory = 1 << 20});
      return text(run(product(rows, vector_x()), busy()));
    };
  };
  const auto total = [](auto row) { return fold(plus, 0.5, row); };
  const auto doubled = [](auto row) { return map([](auto x) { return x + x; }, row); };
  const auto more = map_seq(doubled, stream_in(more_rows()));
  const auto sparse = produce(20, [](auto i) {
    return generate(i % 7, [=](auto k) { return pack(cast<std::int32_t>(k * 9), cast<double>(k + i)); });
  });
  const auto rows_into_another = [&folder, doubled](const char* name) {
    return [&folder, doubled, path = folder / name,
            written = std::make_shared<Written>(std::vector<std::string>{folder / "v.npy"})] {
      return written->text_of([&] {
        const auto rows = stream_in(io::open_npy_rows<2, double>(path));
        run(consume(write(map_seq(doubled, rows), io::write_npy_rows(folder / "v.npy"))), busy());
      });
    };
  };
  return {
      {"csr_view",
       [] {
         return text(
             run(product(io::csr_view(60, 50, matrix.indptr, matrix.indices, matrix.values), vector_x()),
                 busy()));
       }},
      {"stored npz", from_file("a.npz")},
      {"deflated npz", from_file("b.npz")},
      {"Matrix Market", from_file("c.mtx")},
      {"range", [=] { return text(run(consume(elements(map_seq(total, stream_in(some_rows())))), busy())); }},
      {"produce",
       [=] {
         auto rows =
             produce(40, [](auto i) { return generate(i % 7, [=](auto k) { return cast<double>(k + i); }); });
         return text(run(consume(elements(map_seq(total, rows))), busy()));
       }},
      {"arrays",
       [] {
         Vector<double> v(Index{20'000});
         std::iota(v.mutable_data(), v.mutable_data() + v.size(), 0.25);
         auto a = use(v);
         auto squares = map([](auto x) { return x * x; }, a);
         return text(run(map([=](auto x) { return x / the(fold(plus, 0.0, squares)); }, squares), busy()));
       }},
      {"compiled program, run twice",
       [] {
         const auto source = io::csr_view(60, 50, matrix.indptr, matrix.indices, matrix.values);
         const auto program = compile(product(source, vector_x()));
         RunReport report;
         const std::string first = text(program.run(busy(), &report));
         return first + text(program.run(busy()));
       }},
      {"other items, states and sums of streams",
       [=] {
         const auto s = stream_in(some_rows());
         const auto long_rows =
             filter_seq([](auto row) { return size(row) > 0; }, append_seq(s, drop_seq(1, s)));
         const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
         const auto sums = map_seq(total, long_rows);
         const auto [a, b, c] = run(std::tuple(consume(elements(scan_seq(add, unit(0.0), sums))),
                                               consume(elements(windows(long_rows, 30, 7))),
                                               replicate(consume(fold_seq(add, unit(0.0), sums)), 1)),
                                    busy());
         return text(a) + text(b) + text(c);
       }},
      {"a source that can be read once, for three results",
       [=] {
         std::vector<anabranch::testing::Item> items;
         for (const auto& row : some_rows()) items.push_back({row.erased()});
         const auto once =
             stream_in(Source<Vector<double>>(std::make_shared<anabranch::testing::MemorySource>(
                 "once",
                 std::vector{anabranch::testing::array_info({ScalarType::float64}, {std::nullopt}, 0)}, items,
                 false)));
         const auto [a, b, c] =
             run(std::tuple(consume(elements(map_seq(total, once))), consume(elements(drop_seq(2, once))),
                            consume(elements(windows(once, 30, 7)))),
                 busy());
         return text(a) + text(b) + text(c);
       }},
      {"stream_out",
       [=] {
         std::string all;
         for (const Vector<double>& item : stream_out(map_seq(doubled, stream_in(some_rows())), busy()))
           all += text(item);
         return all;
       }},
      {"interpreter",
       [=] {
         RunOptions options;
         options.backend = Backend::interpreter;
         return text(run(consume(elements(map_seq(total, stream_in(some_rows())))), options));
       }},
      {"timeline",
       [=, &folder] {
         RunOptions options = busy();
         options.trace = folder / "t.json";
         const auto result = text(run(consume(elements(map_seq(total, stream_in(some_rows())))), options));
         std::filesystem::remove(options.trace);
         return result;
       }},
      {"page",
       [=, &folder] {
         RunOptions options = busy();
         options.report = folder / "r.html";
         const auto result = text(run(consume(elements(map_seq(total, stream_in(some_rows())))), options));
         std::filesystem::remove(options.report);
         return result;
       }},
      {"writers",
       [&folder] {
         for (const char* name : {"w.npz", "w.mtx"}) {
           io::CsrWriter writer(folder / name, 50, ScalarType::int32, ScalarType::float64);
           std::vector<std::int64_t> lengths;
           for (std::size_t r = 0; r + 1 < matrix.indptr.size(); ++r)
             lengths.push_back(matrix.indptr[r + 1] - matrix.indptr[r]);
           writer.append<std::int32_t, double>(lengths, matrix.indices, matrix.values);
           writer.commit();
         }
         io::write_npy(folder / "w.npy", vector_x());
         const Passing passing;
         std::string all;
         for (const char* name : {"w.npz", "w.mtx", "w.npy"}) {
           all += io_test::read_file(folder / name);
           std::filesystem::remove(folder / name);
         }
         return all;
       }},
      {"streams into files",
       [program =
            compile(std::tuple(consume(write(more, io::write_ragged(folder / "w"))),
                               consume(write(map_seq(total, more), io::write_npy_rows(folder / "w.npy"))))),
        written = std::make_shared<Written>(
            std::vector<std::string>{folder / "w.offsets.npy", folder / "w.values.npy", folder / "w.npy"})] {
         return written->text_of([&] { program.run(busy()); });
       }},
      {"rows of a stream into matrices",
       [program = compile(std::tuple(consume(write(sparse, io::write_csr(folder / "m.npz", 64))),
                                     consume(write(sparse, io::write_csr(folder / "m.mtx", 64))))),
        written =
            std::make_shared<Written>(std::vector<std::string>{folder / "m.npz", folder / "m.mtx"})] {
         return written->text_of([&] { program.run(busy()); });
       }},
      {"rows of an .npy file into another one", rows_into_another("g.npy")},
      {"rows of an .npy file in Fortran order into another one", rows_into_another("h.npy")},
      {"a ragged pair into another one",
       [=, &folder,
        written = std::make_shared<Written>(
            std::vector<std::string>{folder / "s.offsets.npy", folder / "s.values.npy"})] {
         return written->text_of([&] {
           const auto rows = stream_in(io::open_ragged<double>(folder / "r"));
           run(consume(write(map_seq(doubled, rows), io::write_ragged(folder / "s"))), busy());
         });
       }},
      {"the columns of a matrix, sorted in a spool file, into the rows of another one",
       [&folder, written = std::make_shared<Written>(std::vector<std::string>{folder / "t.npz"})] {
         return written->text_of([&] {
           const auto columns = io::open_csr<std::int32_t, double>(
               folder / "a.npz", {.transpose = true, .spool_dir = folder.path(), .memory = 2 << 20});
           run(consume(write(stream_in(columns), io::write_csr(folder / "t.npz", 60))), busy());
         });
       }},
      {"a file that replaces another one",
       [program = compile(consume(write(map_seq(total, more), io::write_npy_rows(folder / "o.npy")))),
        path = folder / "o.npy", whole = std::make_shared<std::string>()] {
         const std::string old = "what was there before";
         {
           const Passing passing;
           io_test::write_file(path, old);
         }
         const auto taken_away = [&] {
           const Passing passing;
           std::string content = io_test::read_file(path);
           std::filesystem::remove(path);
           return content;
         };
         try {
           program.run(busy());
         } catch (...) {
           const std::string content = taken_away();
           const Passing passing;
           CHECK((content == old || content == *whole));
           throw;
         }
         return *whole = taken_away();
       }},
      {"results that grow",
       [program = compile(consume(elements(produce(600, [](auto i) {
          return generate(i % 701, [=](auto k) { return cast<double>(k + i); });
        }))))] { return text(program.run({.threads = 2, .scheduler = "fixed:20"})); }},
      {"words of a file into lines",
       [program = compile(
            consume(write(stream_in(io::open_words(folder / "d.txt")), io::write_lines(folder / "e.txt")))),
        written = std::make_shared<Written>(std::vector<std::string>{folder / "e.txt"})] {
         return written->text_of([&] { program.run(busy()); });
       }},
      {"lines of a file",
       [&folder] {
         const auto lengths =
             map_seq([](auto line) { return unit(size(line)); }, stream_in(io::open_lines(folder / "d.txt")));
         return text(run(consume(elements(lengths)), busy()));
       }},
      {"lines of a larger file, counted by who reads them",
       [program = compile(consume(elements(map_seq([](auto line) { return unit(size(line)); },
                                                   stream_in(io::open_lines(folder / "f.txt"))))))] {
         return text(program.run({.threads = 2}));
       }},
      {"a range that computes its items, in a program that has failed before", computed_range()},
      {"pushed items",
       [=] {
         std::string all;
         auto rows = push_stream<Vector<double>>([=](auto s) { return map_seq(doubled, s); }, busy());
         for (const auto& row : more_rows()) {
           rows.push(row);
           while (const auto item = rows.poll()) all += text(*item);
         }
         rows.finish();
         while (const auto item = rows.pop()) all += text(*item);
         auto sums = push_stream<Vector<double>>([=](auto s) { return consume(elements(map_seq(total, s))); },
                                                 busy());
         for (const auto& row : more_rows()) sums.push(row);
         return all + text(sums.finish());
       }},
      {"pipes",
       [=] {
         std::string all;
         {
           const Pipe pipe("one\ntwo and three\n\nfour");
           for (const auto& line : stream_out(stream_in(io::lines_of(pipe.out())), busy())) all += text(line);
         }
         std::string records;
         for (const auto& row : more_rows()) {
           const auto n = static_cast<std::uint32_t>(row.size());
           records.append(reinterpret_cast<const char*>(&n), sizeof n) += text(row);
         }
         const Pipe pipe(records);
         const auto sums = map_seq(total, stream_in(io::ragged_of<double>(pipe.out())));
         return all + text(run(consume(elements(sums)), busy()));
       }},
      {"an Arrow stream from another library",
       [=] {
         GivenBatches batches;
         Held<ArrowArrayStream> stream;
         batches.give(stream);
         const auto rows = io::from_arrow<Vector<double>>(&stream);
         return text(run(consume(elements(map_seq(total, stream_in(rows)))), busy()));
       }},
      {"an Arrow stream for another library",
       [=] {
         Held<ArrowArrayStream> stream;
         io::to_arrow(map_seq(doubled, stream_in(more_rows())), &stream, {.run = busy()});
         return elements_of(stream);
       }},
  };
}

struct Files : TemporaryDirectory {
  Files() {
    io_test::write_file(*this / "a.npz", io_test::npz(io_test::members(matrix)));
    io_test::write_file(*this / "b.npz", io_test::npz(io_test::members(matrix), true));
    std::string text =
        "%%MatrixMarket matrix coordinate real general\n60 50 " + std::to_string(matrix.values.size()) + "\n";
    for (std::size_t r = 0; r + 1 < matrix.indptr.size(); ++r)
      for (auto k = matrix.indptr[r]; k < matrix.indptr[r + 1]; ++k)
        text += std::to_string(r + 1) + " " +
                std::to_string(matrix.indices[static_cast<std::size_t>(k)] + 1) + " " +
                std::to_string(matrix.values[static_cast<std::size_t>(k)]) + "\n";
    io_test::write_file(*this / "c.mtx", text);
    std::string words;
    for (int i = 0; i < 200; ++i)
      words += std::string(static_cast<std::size_t>(1 + i % 13), 'a') + (i % 4 == 0 ? "\n" : " ");
    io_test::write_file(*this / "d.txt", words);
    std::string lines;
    for (int i = 0; i < 400; ++i) lines += std::string(static_cast<std::size_t>(500 + i % 13), 'a') + '\n';
    io_test::write_file(*this / "f.txt", lines);
    std::vector<double> elements(60);
    std::iota(elements.begin(), elements.end(), 0.5);
    for (const auto& [name, fortran] : {std::pair("g.npy", "False"), {"h.npy", "True"}})
      io_test::write_file(*this / name, io_test::npy("<f8", "(20, 3)", io_test::raw(elements), fortran));
    std::vector<std::int64_t> offsets{0};
    for (int i = 0; i < 20; ++i) offsets.push_back(offsets.back() + i % 7);
    io_test::write_file(*this / "r.offsets.npy", io_test::npy(offsets));
    elements.resize(static_cast<std::size_t>(offsets.back()));
    io_test::write_file(*this / "r.values.npy", io_test::npy(elements));
  }
};

void check_programs(const std::vector<Kind>& kinds, const Scope& scope) {
  const Files folder;
  const int inputs = folder.files();
  for (const auto& [name, program] : programs(folder))
    for (const Kind kind : kinds) {
      INFO(name);
      check_every_fault(kind, program, scope);
      CHECK(folder.files() == inputs);  // no program leaves its results, and nothing else is left
    }
}

std::vector<Kind> all_but_allocations() {
  std::vector<Kind> kinds = all_kinds();
  std::erase(kinds, Kind::allocation);
  return kinds;
}

}  // namespace

TEST_CASE("library: system calls and thread starts fail") { check_programs(all_but_allocations(), {}); }

TEST_CASE("library: allocations fail") {
  std::vector<Site> shown;
  check_programs({Kind::allocation}, {.depth = 1, .shown = &shown});
  CHECK(shown.size() > 100);
}

TEST_CASE(
    "library: each allocation of a run that reads a range fails, and the "
    "next run reads it anew") {
  CHECK(check_every_fault(Kind::allocation, computed_range(), {.step = 1}) > 50);
}

TEST_CASE("library: kernels on disk") {
  const anabranch::testing::OwnKernelCache cache;
  const auto program = [] {
    cpu::clear_cache();
    return text(run(product(io::csr_view(60, 50, matrix.indptr, matrix.indices, matrix.values), vector_x())));
  };
  program();
  for (const Kind kind : all_kinds()) check_every_fault(kind, program, {.depth = 1});
}

TEST_CASE("library: every call fails once", "[.long]") {
  check_programs(all_kinds(), {.step = 1});
  check_programs(all_kinds(), {.step = 1, .lasting = true});
}

}  // namespace fault_test
