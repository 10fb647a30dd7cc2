// The contract of a sink (src/run/sinks/sink.h), driven by sinks that the library does not have: one that only counts, one
// that carries a value from part to part, one that writes to a file.

#include <anabranch/anabranch.h>

#include <cstring>
#include <fstream>

#include "made_up_backends.h"

#include "front/handle.h"
#include "interp/interpret.h"
#include "run/sinks/sinks.h"
#include "support/catch.h"
#include "support/files.h"
#include "support/host_arrays.h"

namespace anabranch::testing {
namespace {

using runtime::PartShape;
using runtime::RunBackend;
using runtime::RunContext;
using runtime::Sink;
using runtime::SinkWork;

HostArray vector_of_doubles(const std::vector<double>& values) { return testing::vector_of<double>(values); }

/// Memory that is used again for each part: for sinks of doubles that keep no elements.
class OneRoom {
 public:
  std::vector<void*> take(std::int64_t elements) {
    values_.resize(static_cast<std::size_t>(elements));
    return {values_.data()};
  }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

/// How many items and elements there are, in whatever order they come.
class Counter final : public Sink {
 public:
  bool order_matters() const override { return false; }
  std::vector<void*> room(std::int64_t elements) override { return room_.take(elements); }
  void commit(std::int64_t items, const PartShape::Result& part) override {
    items_ += items;
    elements_ += part.elements;
  }
  HostArray finish() override {
    return vector_of_doubles({static_cast<double>(items_), static_cast<double>(elements_)});
  }
  std::int64_t elements() const override { return elements_; }

 private:
  OneRoom room_;
  std::int64_t items_ = 0, elements_ = 0;
};

/// Each element with all those before it in the stream: what is carried goes from part to part.
class RunningSum final : public Sink {
 public:
  bool order_matters() const override { return true; }
  std::vector<void*> room(std::int64_t elements) override { return room_.take(elements); }
  void commit(std::int64_t, const PartShape::Result& part) override {
    REQUIRE(part.elements == static_cast<std::int64_t>(room_.values().size()));
    for (const double value : room_.values()) sums_.push_back(carried_ += value);
  }
  HostArray finish() override { return vector_of_doubles(sums_); }
  std::int64_t elements() const override { return static_cast<std::int64_t>(sums_.size()); }

 private:
  OneRoom room_;
  double carried_ = 0;
  std::vector<double> sums_;
};

/// Writes as parts come, and gives the file its name at the end: a run that fails leaves none.
class FileSink final : public Sink {
 public:
  explicit FileSink(std::filesystem::path path)
      : path_(std::move(path)), unfinished_(path_.string() + ".part"), file_(unfinished_, std::ios::binary) {}
  ~FileSink() override {
    std::error_code none;
    std::filesystem::remove(unfinished_, none);
  }
  bool order_matters() const override { return true; }
  std::vector<void*> room(std::int64_t elements) override { return room_.take(elements); }
  void commit(std::int64_t, const PartShape::Result& part) override {
    file_.write(reinterpret_cast<const char*>(room_.values().data()), part.elements * 8);
    elements_ += part.elements;
  }
  HostArray finish() override {
    file_.close();
    std::filesystem::rename(unfinished_, path_);
    return vector_of_doubles({});
  }
  std::int64_t elements() const override { return elements_; }

 private:
  std::filesystem::path path_, unfinished_;
  std::ofstream file_;
  OneRoom room_;
  std::int64_t elements_ = 0;
};

/// The CPU, or what is made up of it, with sinks of this kind.
template <class Make>
MakeBackend with_sinks(Behaviour& behaviour, Make make) {
  return [&behaviour, make](RunContext& context, std::unique_ptr<RunBackend> cpu) {
    context.own_sinks = [make](ir::SinkOp, const SinkWork&) { return make(); };
    return made_up(std::move(cpu), behaviour);
  };
}

/// 300 items, of 0 to 6 elements each, of which `fails` divides by zero.
Compiled ragged_items(std::int64_t fails = -1) {
  const auto s = produce(300, [=](auto i) {
    const auto part = std::int64_t{7} / (i - fails);
    return fill(i % std::int64_t{7}, cast<double>(i * 2 + min(part, std::int64_t{0})));
  });
  return compile_program({front::node_of(consume(elements(s)).handle())}, {}, {});
}

RunOptions in_chunks_of(int items) {
  RunOptions options;
  options.threads = 2;
  options.scheduler = "fixed:" + std::to_string(items);
  return options;
}

std::vector<double> expected_elements() {
  const HostArray all = interp::run(ragged_items().program)[0];
  const auto* values = static_cast<const double*>(all->buffers[0].get());
  return {values, values + all->size()};
}

std::vector<double> running(const std::vector<double>& values) {
  std::vector<double> sums;
  double sum = 0;
  for (const double value : values) sums.push_back(sum += value);
  return sums;
}

TEST_CASE("a sink that keeps no elements") {
  const auto all = static_cast<double>(expected_elements().size());
  for (const int items : {1, 7, 1000}) {
    Behaviour plain;
    const auto make = with_sinks(plain, [] { return std::make_unique<Counter>(); });
    CHECK(same(run_on(make, ragged_items(), in_chunks_of(items))[0], vector_of_doubles({300, all})));
  }
}

TEST_CASE("what a sink carries from part to part does not depend on chunks, parts and halves") {
  const HostArray expected = vector_of_doubles(running(expected_elements()));
  for (const int items : {1, 7, 64, 1000})
    for (const bool late : {false, true})
      for (const std::int64_t most : {std::int64_t{5}, INT64_MAX}) {
        Behaviour behaviour;
        behaviour.late = late;
        behaviour.most_items_of_a_part = 3;
        behaviour.most_items = most;
        const auto make = with_sinks(behaviour, [] { return std::make_unique<RunningSum>(); });
        CHECK(same(run_on(make, ragged_items(), in_chunks_of(items))[0], expected));
      }
}

TEST_CASE("a sink that writes to a file does so as parts come, and leaves nothing of a run that fails") {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "elements";
  Behaviour plain;
  const auto make = with_sinks(plain, [&] { return std::make_unique<FileSink>(path); });
  CHECK_THROWS_AS(run_on(make, ragged_items(250), in_chunks_of(16)), RunError);
  CHECK(folder.files() == 0);
  run_on(make, ragged_items(), in_chunks_of(16));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::vector<double> expected = expected_elements();
  REQUIRE(bytes.size() == expected.size() * 8);
  CHECK(std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
}

TEST_CASE("parts out of their order are refused, unless the order does not matter") {
  Behaviour backwards;
  backwards.most_items_of_a_part = 3;
  backwards.backwards = true;
  const auto all = static_cast<double>(expected_elements().size());
  CHECK(same(run_on(with_sinks(backwards, [] { return std::make_unique<Counter>(); }), ragged_items(),
                    in_chunks_of(16))[0],
             vector_of_doubles({300, all})));
  CHECK_THROWS_AS(run_on(with_sinks(backwards, [] { return std::make_unique<RunningSum>(); }), ragged_items(),
                         in_chunks_of(16)),
                  InternalError);
  const MakeBackend own = [&](RunContext&, std::unique_ptr<RunBackend> cpu) {
    return made_up(std::move(cpu), backwards);
  };
  CHECK_THROWS_AS(run_on(own, ragged_items(), in_chunks_of(16)), InternalError);
}

}  // namespace
}  // namespace anabranch::testing
