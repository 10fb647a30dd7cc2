#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "interp/machine.h"

/// Sequence computations, item by item.
namespace anabranch::interp {

/// One pass over a sequence from its first item to its last. All sequences it is made of advance together, so
/// a sequence that is used twice within one pass is computed once per item, and the pass ends with the
/// shortest.
class Pass {
 public:
  using Number = Evaluator::Number;

  /// `reader` is the node that errors about reading a source twice name.
  Pass(Machine& machine, Number sequence, const ir::Node& reader);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  bool next(std::vector<HostArray>& item);

 private:
  /// A sequence node and the item it is at.
  struct Stage {
    Number number;
    const ir::Node* node;
    std::optional<std::int64_t> length{};  ///< of a source that knows it without a reading, and of a take_seq
    std::size_t reading = 0;               ///< stream_in: which of readings_
    std::vector<HostArray> item{};
  };
  /// A source and the item it is at. Nodes that stream the same source share it.
  struct Reading {
    SourceBase* source;
    Place place;
    std::vector<HostArray> item;
  };

  void open(Stage& stage);
  void open_source(Stage& stage);
  void open_reading(Stage& stage);
  void close() noexcept;
  bool pull();
  std::optional<std::int64_t> length() const;
  void compute(Stage& stage);
  void compute_source(Stage& stage);
  void apply(Stage& stage, Number lambda, std::span<const HostArray> arguments);
  void compute_what_items_share();
  void apply_to_shared(Stage& stage, Number lambda, std::span<const HostArray> arguments);
  std::vector<HostArray> arguments_of_map(const Stage& stage) const;

  Machine& machine_;
  const ir::Node& reader_;
  bool inside_;                ///< of an item of another sequence
  std::vector<Stage> stages_;  ///< producers before consumers; the last is the sequence asked for
  std::unordered_map<Number, std::size_t> stage_of_;
  std::vector<Reading> readings_;
  std::int64_t position_ = 0;
  bool over_ = false;
};

/// The array that a sink makes of its whole sequence.
HostArray run_sink(Machine& machine, Evaluator::Number sink);

}  // namespace anabranch::interp
