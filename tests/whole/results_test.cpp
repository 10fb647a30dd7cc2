// Where results lie while a stream passes.

#include <anabranch/anabranch.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "made_up_backends.h"

#include "front/handle.h"
#include "run/sinks/sinks.h"
#include "support/catch.h"
#include "support/host_arrays.h"

namespace anabranch::testing {
namespace {

using runtime::PartShape;
using runtime::RunBackend;
using runtime::RunContext;
using runtime::Sink;
using runtime::SinkWork;

/// The library's sink, watched: what it has lies before the room it gives, and was copied where that is elsewhere.
class Watched final : public Sink {
 public:
  Watched(std::unique_ptr<Sink> sink, const ir::ArrayType& type, std::int64_t& copied)
      : sink_(std::move(sink)),
        width_(static_cast<std::int64_t>(size_of(type.scalars[0]))),
        copied_(copied) {}
  bool order_matters() const override { return sink_->order_matters(); }
  std::vector<void*> room(std::int64_t elements) override {
    std::vector<void*> places = sink_->room(elements);
    const void* begin = static_cast<std::byte*>(places[0]) - sink_->elements() * width_;
    if (begin != begin_) copied_ += sink_->elements();
    begin_ = begin;
    return places;
  }
  void commit(std::int64_t items, const PartShape::Result& part) override { sink_->commit(items, part); }
  HostArray finish() override { return sink_->finish(); }
  std::int64_t elements() const override { return sink_->elements(); }

 private:
  std::unique_ptr<Sink> sink_;
  std::int64_t width_;
  std::int64_t& copied_;
  const void* begin_ = nullptr;
};

/// The results of a terminal, and how many elements were copied elsewhere while they grew.
/// `streams` go through all of the items, one in a chunk.
std::vector<HostArray> watched(std::vector<ir::Ref> results, std::int64_t items, std::int64_t& copied,
                               std::int64_t streams = 1) {
  const Compiled program = compile_program(std::move(results), {}, {});
  const MakeBackend make = [&](RunContext& context, std::unique_ptr<RunBackend> cpu) {
    context.own_sinks = [&](ir::SinkOp kind, const SinkWork& work) {
      return std::make_unique<Watched>(runtime::make_sink(kind, work), work.array.type, copied);
    };
    return cpu;
  };
  RunOptions options;
  options.threads = 2;
  options.scheduler = "fixed:1";
  RunReport report;
  copied = 0;
  std::vector<HostArray> arrays = run_on(make, program, options, &report);
  REQUIRE(report.chunks == streams * items);
  return arrays;
}

TEST_CASE("no terminal copies what it has for every chunk") {
  constexpr std::int64_t items = 20'000;
  // Rows of `length(i)` times i.
  const auto rows = [=](const auto& length) {
    return produce(items, [=](auto i) { return fill(length(i), cast<double>(i)); });
  };
  const auto lengths = rows([](auto i) { return i % std::int64_t{7}; });
  const auto node = [](const auto& result) { return front::node_of(result.handle()); };
  // Each some times, not once for each chunk behind it.
  const auto check = [&](std::int64_t copied, std::size_t elements) {
    INFO(copied << " copies of " << elements << " elements");
    CHECK(copied <= 3 * static_cast<std::int64_t>(elements));
  };
  std::int64_t copied = 0;
  std::vector<double> expected;
  std::vector<std::int64_t> expected_offsets{0};
  for (std::int64_t i = 0; i < items; ++i) {
    expected.insert(expected.end(), static_cast<std::size_t>(i % 7), static_cast<double>(i));
    expected_offsets.push_back(std::ssize(expected));
  }
  CHECK(same(watched({node(consume(elements(lengths)))}, items, copied)[0], vector_of<double>(expected)));
  check(copied, expected.size());

  const RaggedAcc<double> both = consume(ragged(lengths));
  const std::vector<HostArray> of_ragged = watched({node(both.offsets()), node(both.values())}, items, copied,
                                                   2);  // what is counted needs no pass in common
  CHECK(same(of_ragged[0], vector_of<std::int64_t>(expected_offsets)));
  CHECK(same(of_ragged[1], vector_of<double>(expected)));
  check(copied, expected.size() + items);

  // Of rows that are trimmed to the shortest; and of equal ones, which nobody knows beforehand.
  const auto trimmed = rows([](auto i) { return i % std::int64_t{3} + 4; });
  const auto equal = rows([=](auto i) { return i / items + 4; });
  expected.clear();
  for (std::int64_t i = 0; i < items; ++i) expected.insert(expected.end(), 4, static_cast<double>(i));
  for (const auto& s : {trimmed, equal}) {
    const HostArray matrix = watched({node(consume(tabulate(s)))}, items, copied)[0];
    REQUIRE(matrix->extents == std::vector<std::int64_t>{items, 4});
    CHECK(std::equal(expected.begin(), expected.end(), static_cast<const double*>(matrix->buffers[0].get())));
    check(copied, 6 * items);
  }
}

/// The library's sink, which counts the elements that are there already when room is asked for them.
class Expecting final : public Sink {
 public:
  Expecting(std::unique_ptr<Sink> sink, std::int64_t& there) : sink_(std::move(sink)), there_(there) {}
  bool order_matters() const override { return sink_->order_matters(); }
  std::vector<void*> place(std::int64_t first, std::int64_t elements) const override {
    return sink_->place(first, elements);
  }
  std::vector<void*> room(std::int64_t elements) override {
    std::vector<void*> places = sink_->room(elements);
    const auto* values = static_cast<const std::int64_t*>(places[0]);
    for (std::int64_t i = 0; i < elements; ++i)
      there_ += values[i] == sum_up_to(sink_->elements() + i) ? 1 : 0;
    return places;
  }
  void commit(std::int64_t items, const PartShape::Result& part) override { sink_->commit(items, part); }
  HostArray finish() override { return sink_->finish(); }
  std::int64_t elements() const override { return sink_->elements(); }
  static std::int64_t sum_up_to(std::int64_t i) { return (i + 1) * (i + 2) / 2; }

 private:
  std::unique_ptr<Sink> sink_;
  std::int64_t& there_;
};

TEST_CASE("items that states pass through are made where elements is to have them") {
  constexpr std::int64_t items = 5000;
  const auto numbers = produce(items, [](auto i) { return unit(i + 1); });
  const auto sums = scan_seq(plus, std::int64_t{0}, numbers);
  const auto count = [&](const auto& s) {
    const Compiled program = compile_program({front::node_of(consume(elements(s)).handle())}, {}, {});
    std::int64_t there = 0;
    const MakeBackend make = [&](RunContext& context, std::unique_ptr<RunBackend> cpu) {
      context.own_sinks = [&](ir::SinkOp kind, const SinkWork& work) {
        return std::make_unique<Expecting>(runtime::make_sink(kind, work), there);
      };
      return cpu;
    };
    RunOptions options;
    options.threads = 2;
    options.scheduler = "fixed:700";
    RunReport report;
    const HostArray result = run_on(make, program, options, &report)[0];
    const auto* values = static_cast<const std::int64_t*>(result->buffers[0].get());
    for (std::int64_t i = 0; i < items; ++i) CHECK(values[i] == Expecting::sum_up_to(i));
    return there;
  };
  // What is made of them is made by the stage itself. (First: memory that is used again has these numbers.)
  CHECK(count(map_seq([](auto x) { return unit(-the(x)); }, scan_seq(minus, std::int64_t{0}, numbers))) == 0);
  CHECK(count(sums) == items);
}

}  // namespace
}  // namespace anabranch::testing
