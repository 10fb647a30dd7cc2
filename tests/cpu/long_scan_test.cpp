#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "cpu/long_scans.h"
#include "cpu/pieces.h"
#include "cpu/routines.h"
#include "ir/cancelled.h"
#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/scan_kernels.h"

/// Long rows that several threads scan: their blocks apart from each other.
using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

/// Rows of several blocks, among others.
const std::vector<std::int64_t> long_lengths{4097, 5, 8192, 0, 8193, 4096, 22000};
constexpr std::int64_t whole = INT64_MAX / 4;  ///< a piece's elements: no row is cut

/// All outputs after the totals, carries and elements of the blocks of long rows were computed by calls of their own,
/// `task` blocks each; those that may come in any order from the last to the first.
std::vector<std::byte> scanned_apart(KernelBuilder& k, const cpu::CompileOptions& options,
                                     std::int64_t task) {
  const auto compiled = cpu::compile(k.kernel(), options);
  for (std::size_t c = 0; c < k.output_components().size(); ++c)
    std::ranges::fill(k.output_component(c), std::byte{0xcd});
  const cpu::Bindings bindings = k.bindings();
  const cpu::StopWord never = 0;
  const auto call = [&](int entry, std::int64_t begin, std::int64_t end, cpu::Scratch scratch) {
    cpu::ErrorRecord error;
    cpu::KernelArgs args{};
    args.buffers = bindings.buffers.data();
    args.scalars = bindings.scalars.data();
    args.functions = cpu::anabranch_routines;
    args.error = &error;
    args.items = bindings.items;
    args.stop = &never;
    const cpu::LoadedImage& image =
        compiled->for_any_rows ? compiled->for_any_rows->get(nullptr).image : compiled->image;
    image.entry(entry)(&args, begin, end, &scratch);
    REQUIRE(error.failed == 0);
  };
  const cpu::Cut cut = cpu::cut(k.kernel(), cpu::cut_facts_of(k.kernel()), bindings, 1);
  const std::size_t components = k.kernel().body.size();
  for (const cpu::Piece& p : cut.pieces) {
    if (p.long_row < 0) {
      call(0, p.begin, p.end, {cpu::holder_of(k.kernel(), bindings, p.begin).item});
      continue;
    }
    const cpu::LongRow& row = cut.long_rows[static_cast<std::size_t>(p.long_row)];
    std::vector<std::int64_t> partials(static_cast<std::size_t>(row.blocks) * components, -1);
    std::vector<std::int64_t> state(64 * components, -1);
    const cpu::Scratch scratch{row.item, row.row, row.item, partials.data(), state.data()};
    const auto backwards = [&](int entry) {
      for (std::int64_t end = row.blocks; end > 0; end -= task)
        call(entry, std::max<std::int64_t>(end - task, 0), end, scratch);
    };
    backwards(2);
    for (std::int64_t begin = 0; begin < row.blocks; begin += task)
      call(3, begin, std::min(row.blocks, begin + task), scratch);
    backwards(1);
    call(0, row.row, row.row + 1, scratch);
  }
  std::vector<std::byte> out;
  for (std::size_t c = 0; c < k.output_components().size(); ++c) {
    const auto bytes = k.output_component(c);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

/// Vector and scalar code against the oracle.
void check_apart(KernelBuilder k) {
  k.find_checks();
  const auto expected = Oracle(k).run();
  cpu::CompileOptions options;
  for (const int lanes : {0, 1, 4})
    for (const std::int64_t task : {1, 3}) {
      if (lanes != 0 && task > 1) continue;
      INFO("lanes " << lanes << ", " << task << " blocks at a time");
      options.lanes = lanes;
      CHECK(same_values(k, scanned_apart(k, options, task), expected));
    }
}

/// Pieces by so many threads, which begin together. An exception of a piece comes out at the end.
cpu::ParallelFor by_threads(int count) {
  return [count](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
    std::atomic<std::int64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    std::barrier begin(count);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        try {
          for (std::int64_t i = next++; i < n; i = next++) piece(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
          next = n;
        }
      });
    for (auto& t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
  };
}

std::string message_of(KernelBuilder& k, std::int64_t piece, const cpu::ParallelFor& parallel_for) {
  try {
    k.run({}, piece, parallel_for);
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

/// Elements that are their own columns' values in a table of 500.
KernelBuilder scan_of_table(std::int64_t row, const std::vector<std::int64_t>& bad,
                            const ScanOptions& options = {true, {}, Results::both}) {
  ScannedRows rows = scanned_rows<std::int32_t>({2, row, row, 3});
  auto* columns = static_cast<std::int32_t*>(rows.k.data(1));
  for (std::int64_t i = 0; i < rows.elements; ++i) columns[i] = static_cast<std::int32_t>(i * 7 % 500);
  for (std::size_t i = 0; i < bad.size(); ++i)
    columns[first_element + 2 + bad[i]] = 600 + static_cast<std::int32_t>(i);
  const int xs = rows.k.buffer(random_values<std::int32_t>(500, 9));
  const ir::Ref x =
      rows.k.array(kernel::Form::avoided, {ScalarType::int32}, {rows.k.uniform_extent(500)}, xs);
  rows.k.kernel().body = {
      ir::index(x, ir::cast(ScalarType::int64, rows.element[0]), Place(std::source_location::current()))};
  auto& reduction = reduction_in(rows.k.kernel());
  reduction.combine = {ir::primitive(Primitive::add, {rows.left[0], rows.right[0]})};
  reduction.seed = {ir::literal(std::int32_t{0})};
  add_scan_outputs(rows, options);
  rows.k.kernel().domain.over_items = true;
  rows.k.find_checks();
  return std::move(rows.k);
}

}  // namespace

TEMPLATE_TEST_CASE("blocks that are scanned apart keep the canonical order, for every type", "", half, float,
                   double, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t) {
  const auto all = all_scan_options();
  std::size_t next = sizeof(TestType);
  for (const Primitive op : {Primitive::add, Primitive::subtract, Primitive::multiply}) {
    const ScanOptions& options = all[next++ % all.size()];
    INFO(ir::info(op).name << ", " << described(options));
    check_apart(scan_of<TestType>(long_lengths, op, options));
  }
}

TEST_CASE("blocks that are scanned apart, results written in all ways") {
  for (const ScanOptions& options : some_scan_options()) {
    INFO(described(options));
    check_apart(scan_of<float>({9 * 4096 + 1}, Primitive::add, options));
    check_apart(scan_of_affine_maps({4097, 13000}, options));
    check_apart(scan_of_ragged_matrices({{2, 3}, {2, 8200}, {0, 9000}, {1, 4097}}, options));
    check_apart(scan_across(false, {2}, 0, 9000, options));
  }
  check_apart(scan_of_maxima_with_places(long_lengths, {true, {kernel::Prefixes::exclusive}, Results::both}));
  check_apart(dense_scan(true, {2}, 8193, {true, {}, Results::both}));
}

TEST_CASE("blocks that are scanned apart by operators that cost much or may fail") {
  const auto scan_by = [](const ScanOptions& options, auto&& combine) {
    ScannedRows rows = scanned_rows<std::int64_t>({4097, 9, 13000});
    auto& reduction = reduction_in(rows.k.kernel());
    reduction.combine = {combine(rows.left[0], rows.right[0])};
    reduction.seed = {ir::literal(std::int64_t{5})};
    add_scan_outputs(rows, options);
    return std::move(rows.k);
  };
  const ir::Ref one = ir::literal(std::int64_t{1});
  const auto odd = [&](const ir::Ref& x) { return ir::primitive(Primitive::bit_or, {x, one}); };
  for (const ScanOptions& options :
       {ScanOptions{false, {}, Results::elements}, {true, {kernel::Prefixes::exclusive}, Results::both}}) {
    check_apart(scan_by(options, [&](const ir::Ref& x, const ir::Ref& y) {
      return ir::primitive(Primitive::remainder, {ir::primitive(Primitive::subtract, {x, odd(y)}), odd(y)});
    }));
    check_apart(scan_by(options, [&](const ir::Ref& x, const ir::Ref& y) {
      ir::Ref z = y;
      for (int i = 0; i < 20; ++i)
        z = ir::primitive(i % 2 ? Primitive::subtract : Primitive::multiply, {z, i % 3 ? x : one});
      return z;
    }));
  }
}

TEST_CASE("blocks that are scanned apart of elements that cost much, or are read here and there") {
  for (const ScanOptions& options : some_scan_options()) {
    INFO(described(options));
    check_apart(scan_of_table(8500, {}, options));

    auto costly = scan_of<half>({4097, 9, 13000}, Primitive::add, options);
    for (int i = 0; i < 40; ++i) {
      ir::Ref& x = costly.kernel().body[0];
      x = ir::primitive(i % 2 ? Primitive::multiply : Primitive::subtract, {ir::literal(half(0.75f)), x});
    }
    check_apart(std::move(costly));

    // The element and the one before.
    ScannedRows rows = scanned_rows<double, std::int8_t>({4097, 9, 13000});
    const ir::Ref k = row_in(rows.k.kernel()).index;
    const ir::Ref before = ir::primitive(
        Primitive::maximum, {ir::primitive(Primitive::subtract, {k, ir::int64(1)}), ir::int64(0)});
    const ir::Ref& array = rows.k.kernel().arrays[0].parameter;
    rows.k.kernel().body[0] =
        ir::primitive(Primitive::subtract, {rows.element[0], ir::index(array, before, {}, true)});
    reduction_in(rows.k.kernel()).combine = {
        ir::primitive(Primitive::subtract, {rows.left[0], rows.right[0]}),
        ir::primitive(Primitive::add, {rows.left[1], rows.right[1]})};
    reduction_in(rows.k.kernel()).seed = {ir::literal(0.5), ir::literal(std::int8_t{1})};
    add_scan_outputs(rows, options);
    check_apart(std::move(rows.k));
  }
  // One of two components has no place among the outputs.
  auto partly = scan_of_affine_maps({4097, 13000}, {true, {}, Results::elements});
  for (int i = 0; i < 40; ++i) {
    ir::Ref& x = partly.kernel().body[0];
    x = ir::primitive(i % 2 ? Primitive::multiply : Primitive::subtract, {ir::literal(0.75), x});
  }
  partly.kernel().outputs[0].array.type.scalars.pop_back();
  check_apart(std::move(partly));
}

TEST_CASE("threads change nothing in the scan of long rows") {
  const auto check = [](KernelBuilder k) {
    k.find_checks();
    const auto expected = k.run({}, whole);
    for (const int threads : {1, 2, 5})
      for (const std::int64_t piece : {1, 20000, 0}) {
        INFO(threads << " threads, pieces " << piece);
        CHECK(k.run({}, piece, by_threads(threads)) == expected);
      }
  };
  for (const ScanOptions& options : some_scan_options()) {
    check(scan_of<float>({300001}, Primitive::add, options));
    check(scan_of_affine_maps({100000, 3, 50000, 4097}, options));
  }
  check(dense_scan(false, {7}, 40000, {true, {}, Results::both}));
  check(scan_of_table(100000, {}));
}

TEST_CASE("the first error of a long row is raised, whichever thread meets one first") {
  for (const auto& bad : std::vector<std::vector<std::int64_t>>{
           {0}, {4095}, {4096}, {49999}, {30000, 9000}, {9000, 30000}, {49999, 20000}, {60000, 40000}}) {
    auto k = scan_of_table(50000, bad);
    const std::string expected = message_of(k, whole, cpu::one_by_one);
    INFO(bad[0] << ": " << expected);
    CHECK_THAT(expected, Catch::Contains("out of range 0..499"));
    for (const int threads : {1, 2, 5})
      for (const std::int64_t piece : {1, 20000})
        CHECK(message_of(k, piece, by_threads(threads)) == expected);
  }
  // An operator, one of whose divisors is zero.
  for (const std::int64_t zero : {0, 4096, 12345, 29999}) {
    ScannedRows rows = scanned_rows<std::int32_t>({30000});
    auto& reduction = reduction_in(rows.k.kernel());
    reduction.combine = {ir::primitive(Primitive::divide, {rows.left[0], rows.right[0]})};
    reduction.seed = {ir::literal(std::int32_t{1 << 30})};
    add_scan_outputs(rows, {true, {}, Results::both});
    auto* data = static_cast<std::int32_t*>(rows.k.data(1)) + first_element;
    std::fill_n(data, 30000, 1);
    data[zero] = 0;
    rows.k.find_checks();
    const std::string expected = message_of(rows.k, whole, cpu::one_by_one);
    CHECK(!expected.empty());
    for (const int threads : {1, 2, 5}) CHECK(message_of(rows.k, 1, by_threads(threads)) == expected);
  }
}

TEST_CASE("the scan of a long row can be stopped, and ends where a piece throws") {
  auto k = scan_of<double>({400000}, Primitive::add, {});
  const auto compiled = cpu::compile(k.kernel(), {});
  cpu::StopWord stop = 0;
  cpu::Bindings bindings = k.bindings();
  bindings.stop = &stop;
  for (const int threads : {1, 4}) {
    stop = 0;
    const auto stopping = [&](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
      by_threads(threads)(n, [&](std::int64_t i) {
        if (i == 20) stop = 1;
        if (stop != 0) ir::raise_cancelled();
        piece(i);
      });
    };
    CHECK_THROWS_AS(cpu::launch(k.kernel(), *compiled, bindings, stopping, cpu::from_heap, 1), Cancelled);
    stop = 0;
    const auto throwing = [&](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
      by_threads(threads)(n, [&](std::int64_t i) {
        if (i == 20) throw std::bad_alloc();
        piece(i);
      });
    };
    CHECK_THROWS_AS(cpu::launch(k.kernel(), *compiled, bindings, throwing, cpu::from_heap, 1),
                    std::bad_alloc);
  }
}

TEST_CASE("the scan of a long row can be stopped in an element that is never done") {
  ScannedRows rows = scanned_rows<double>({100000});
  const auto state = [] { return ir::parameter(ir::Type::element(ScalarType::float64)); };
  const ir::Ref p = state(), q = state();
  const ir::Ref endless = ir::primitive(Primitive::less, {p, ir::literal(1.0)});
  rows.k.kernel().body = {ir::while_loop(ir::lambda({p}, {endless}), ir::lambda({q}, {q}), rows.element[0])};
  auto& reduction = reduction_in(rows.k.kernel());
  reduction.combine = {ir::primitive(Primitive::add, {rows.left[0], rows.right[0]})};
  reduction.seed = {ir::literal(0.0)};
  add_scan_outputs(rows, {});
  KernelBuilder& k = rows.k;
  std::fill_n(static_cast<double*>(k.data(1)) + first_element, 100000, 2.0);
  static_cast<double*>(k.data(1))[first_element + 50000] = 0.0;
  k.find_checks();
  const auto compiled = cpu::compile(k.kernel(), {});
  for (const int threads : {1, 4}) {
    cpu::StopWord stop = 0;
    cpu::Bindings bindings = k.bindings();
    bindings.stop = &stop;
    std::thread user([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = 1;
    });
    CHECK_THROWS_AS(cpu::launch(k.kernel(), *compiled, bindings, by_threads(threads), cpu::from_heap, 1),
                    Cancelled);
    user.join();
  }
}

TEST_CASE("the scan of long rows asks once for a few cells of memory for each block") {
  auto k = scan_of_affine_maps({100000, 3, 50000}, {});
  const auto compiled = cpu::compile(k.kernel(), {});
  std::vector<std::int64_t> asked;
  cpu::launch(
      k.kernel(), *compiled, k.bindings(), cpu::one_by_one,
      [&](std::int64_t bytes) {
        asked.push_back(bytes);
        return cpu::from_heap(bytes);
      },
      4096);
  // Two components; 24 and 12 blocks, a carry and the levels of a tree for each row.
  CHECK(asked == std::vector<std::int64_t>{8 * 2 * (24 + 1 + 5 + 12 + 1 + 4)});
}

TEST_CASE("blocks of long rows get their carries in order, each once, whoever takes them") {
  for (const bool fails : {false, true}) {
    cpu::Cut plan;
    plan.blocks_of_a_task = 2;
    std::int64_t tasks = 0;
    for (const std::int64_t blocks : {1, 50, 7, 31}) {
      plan.add({0, blocks, 0, static_cast<int>(plan.long_rows.size())});
      plan.long_rows.push_back({0, 0, blocks, 0});
      tasks += (blocks + 1) / 2;
    }
    REQUIRE(plan.tasks == tasks);
    std::mutex mutex;
    std::vector<std::int64_t> carried(4);
    std::vector<std::set<std::int64_t>> with_totals(4), scanned(4);
    bool in_order = true;
    cpu::LongScans scans(
        plan, [&](int entry, std::size_t row, std::int64_t begin, std::int64_t end, bool alone) {
          std::this_thread::yield();
          const std::lock_guard lock(mutex);
          if (fails && row == 1 && begin == 20 && entry == (alone ? 1 : 2)) return false;
          if (entry == 2) in_order = with_totals[row].insert(begin).second && in_order;
          if (entry == 3 || alone) {
            in_order = carried[row] == begin && alone != with_totals[row].contains(begin) && in_order;
            carried[row] = end;
          }
          if (entry == 1) in_order = scanned[row].insert(begin).second && begin < carried[row] && in_order;
          return true;
        });
    by_threads(4)(tasks, [&](std::int64_t) { scans.work(); });
    CHECK(in_order);
    for (std::size_t row = 0; row < 4; ++row) {
      const std::int64_t blocks = plan.long_rows[row].blocks;
      const auto shares = static_cast<std::size_t>(blocks + 1) / 2;
      const bool is_whole = !fails || row != 1;
      CHECK(scans.complete(row) == is_whole);
      CHECK((is_whole ? carried[row] == blocks : carried[row] <= 20));
      CHECK((is_whole ? scanned[row].size() == shares : scanned[row].size() <= 10));
    }
  }
}

TEST_CASE("threads go on where the first blocks of a long row are late") {
  cpu::Cut plan;
  plan.add({0, 40, 0, 0});
  plan.long_rows.push_back({0, 0, 40, 0});
  std::mutex mutex;
  std::condition_variable changed;
  int totals = 0;
  bool in_time = false;
  std::set<std::int64_t> carried, scanned;
  cpu::LongScans scans(plan, [&](int entry, std::size_t, std::int64_t begin, std::int64_t end, bool alone) {
    std::unique_lock lock(mutex);
    for (std::int64_t block = begin; block < end; ++block) {
      if (entry == 3 || alone) carried.insert(block);
      if (entry == 1) scanned.insert(block);
    }
    totals += entry == 2;
    changed.notify_all();
    if (begin == 0) in_time = changed.wait_for(lock, std::chrono::seconds(20), [&] { return totals >= 20; });
    return true;
  });
  by_threads(3)(plan.tasks, [&](std::int64_t) { scans.work(); });
  CHECK(in_time);
  CHECK(scans.complete(0));
  CHECK(carried.size() == 40);
  CHECK(scanned.size() == 40);
}
