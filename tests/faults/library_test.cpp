#include "support/catch.h"

#include <cstring>
#include <numeric>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include "cpu/compiler.h"
#include "every_fault.h"
#include "io/matrix_files.h"
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

struct Case {
  const char* name;
  Program program;
};

/// `folder` holds a.npz (stored), b.npz (deflated), c.mtx, x.npy.
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
      {"a source that can be read once, for two results",
       [=] {
         std::vector<anabranch::testing::Item> items;
         for (const auto& row : some_rows()) items.push_back({row.erased()});
         const auto once =
             stream_in(Source<Vector<double>>(std::make_shared<anabranch::testing::MemorySource>(
                 "once",
                 std::vector{anabranch::testing::array_info({ScalarType::float64}, {std::nullopt}, 0)}, items,
                 false)));
         const auto [a, b] =
             run(std::tuple(consume(elements(map_seq(total, once))), consume(elements(drop_seq(2, once)))),
                 busy());
         return text(a) + text(b);
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
         faults::anabranch_faults_pass(true);  // the test's own calls
         std::string all;
         for (const char* name : {"w.npz", "w.mtx", "w.npy"}) {
           all += io_test::read_file(folder / name);
           std::filesystem::remove(folder / name);
         }
         faults::anabranch_faults_pass(false);
         return all;
       }},
  };
}

/// What a program that failed left in the folder, beside whole files.
void check_nothing_left(const TemporaryDirectory& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    INFO(entry.path());
    CHECK(entry.path().extension() != ".tmp");
  }
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
  }
};

void check_programs(const std::vector<Kind>& kinds, const Scope& scope) {
  const Files folder;
  for (const auto& [name, program] : programs(folder))
    for (const Kind kind : kinds) {
      INFO(name);
      check_every_fault(kind, program, scope);
      check_nothing_left(folder);
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
