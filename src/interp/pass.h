#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "interp/fed.h"

/// Sequence computations, item by item.
namespace anabranch::interp {

/// One pass over a sequence from its first item to its last. All sequences it is made of advance together, so
/// a sequence that is used twice within one pass is computed once per item, and the pass ends with the
/// shortest.
class Pass {
 public:
  using Number = Evaluator::Number;

  /// `reader` is the node that errors about reading a source twice name. `readings`: of the pass that this one feeds, or null.
  Pass(Machine& machine, Number sequence, const ir::Node& reader,
       std::shared_ptr<Readings> readings = nullptr);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  bool next(std::vector<HostArray>& item);
  /// The number of items in all; none where that is not known beforehand.
  std::optional<std::int64_t> length() const;

 private:
  /// A sequence node and the item it is at.
  struct Stage {
    Number number;
    const ir::Node* node;
    std::optional<std::int64_t> length{};  ///< of a source that knows it without a reading, and of a take_seq
    const ir::Node* reading = nullptr;     ///< stream_in: that of streams_ which reads its source
    std::unique_ptr<FedItems> fed{};       ///< of what has other items
    std::vector<HostArray> item{};
  };
  /// The first node that streams a source, and the item it is at. Others of the same source share it.
  struct Stream {
    const ir::Node* node;
    std::vector<HostArray> item{};
  };

  void open(Stage& stage);
  void open_source(Stage& stage);
  void open_stream(Stage& stage);
  bool pull();
  void compute(Stage& stage);
  void compute_source(Stage& stage);
  void apply(Stage& stage, Number lambda, std::span<const HostArray> arguments);
  void compute_what_items_share();
  void apply_to_shared(Stage& stage, Number lambda, std::span<const HostArray> arguments);
  std::vector<HostArray> arguments_of_map(const Stage& stage) const;

  Machine& machine_;
  const ir::Node& reader_;
  bool feeds_;                 ///< another pass
  bool inside_;                ///< of an item of another sequence
  std::vector<Stage> stages_;  ///< producers before consumers; the last is the sequence asked for
  std::unordered_map<Number, std::size_t> stage_of_;
  std::shared_ptr<Readings> readings_;
  std::vector<Stream> streams_;
  std::int64_t position_ = 0;
  bool over_ = false;
};

/// The array that a sink makes of its whole sequence.
HostArray run_sink(Machine& machine, Evaluator::Number sink);

}  // namespace anabranch::interp
