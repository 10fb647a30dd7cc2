#include "interp/fed.h"

#include <algorithm>
#include <numeric>

#include "interp/arrays.h"
#include "interp/pass.h"
#include "ir/run_error.h"
#include "ir/views.h"

namespace anabranch::interp {

using ir::Node;
using ir::Op;
using ir::position_of;

namespace {

using Number = Evaluator::Number;

/// What one of them is made with.
struct Fed {
  Machine& machine;
  Number number;  ///< of the sequence
  const Node& reader;
  std::shared_ptr<Readings> readings;

  const Node& node() const { return machine.evaluator().node(number); }
  Number child(std::size_t position) const { return machine.evaluator().children(number)[position]; }
  std::unique_ptr<Pass> pass(std::size_t position) const {
    return std::make_unique<Pass>(machine, child(position), reader, readings);
  }
  std::int64_t integer(std::size_t position) const {
    return machine.evaluator().integers(child(position))[0];
  }
};

/// The last array of an item, a bool, which is taken away.
bool take_flag(std::vector<HostArray>& item) {
  const bool holds = load(ScalarType::boolean, item.back()->buffers[0].get(), 0) != 0;
  item.pop_back();
  return holds;
}

class Filtered final : public FedItems {
 public:
  explicit Filtered(const Fed& fed) : pass_(fed.pass(position_of(Op::filter_seq, "sequence"))) {}
  bool next(std::vector<HostArray>& item) override {
    while (pass_->next(item))
      if (take_flag(item)) return true;
    return false;
  }

 private:
  std::unique_ptr<Pass> pass_;
};

class TakenWhile final : public FedItems {
 public:
  explicit TakenWhile(const Fed& fed) : pass_(fed.pass(position_of(Op::take_while_seq, "sequence"))) {}
  bool next(std::vector<HostArray>& item) override { return pass_->next(item) && take_flag(item); }

 private:
  std::unique_ptr<Pass> pass_;
};

class Dropped final : public FedItems {
 public:
  explicit Dropped(const Fed& fed)
      : left_(fed.integer(position_of(Op::drop_seq, "count"))),
        pass_(fed.pass(position_of(Op::drop_seq, "sequence"))) {
    if (left_ < 0) fed.machine.evaluator().fail(fed.node(), ir::negative_items(fed.node().label(), left_));
    if (const auto all = pass_->length()) length_ = std::max<std::int64_t>(*all - left_, 0);
  }
  bool next(std::vector<HostArray>& item) override {
    for (; left_ > 0; --left_)
      if (!pass_->next(item)) return false;
    return pass_->next(item);
  }
  std::optional<std::int64_t> length() const override { return length_; }

 private:
  std::int64_t left_;
  std::unique_ptr<Pass> pass_;
  std::optional<std::int64_t> length_;
};

class Appended final : public FedItems {
 public:
  explicit Appended(const Fed& fed) : fed_(fed), pass_(fed.pass(0)) {}
  bool next(std::vector<HostArray>& item) override {
    while (!pass_->next(item)) {
      pass_.reset();  // the next one may read the same source
      if (++at_ == ir::AppendSeq(fed_.node()).sequences().size()) return false;
      pass_ = fed_.pass(at_);
    }
    return true;
  }

 private:
  Fed fed_;
  std::unique_ptr<Pass> pass_;
  std::size_t at_ = 0;
};

class Flattened final : public FedItems {
 public:
  explicit Flattened(const Fed& fed)
      : types_(fed.node().type().arrays), pass_(fed.pass(position_of(Op::flatten_seq, "sequence"))) {}

  bool next(std::vector<HostArray>& item) override {
    while (at_ == count_) {
      if (!pass_->next(outer_)) return false;
      at_ = 0;
      begins_.assign(types_.size(), 0);
      count_ = types_[0].rank == 0 ? outer_[0]->size() : outer_[types_.size()]->size();
    }
    item.clear();
    std::size_t extents = types_.size();
    for (std::size_t a = 0; a < types_.size(); ++a) {
      std::vector<std::int64_t> shape;
      for (int d = 0; d < types_[a].rank; ++d)
        shape.push_back(
            from_bits<std::int64_t>(load(ScalarType::int64, outer_[extents++]->buffers[0].get(), at_)));
      const std::int64_t size =
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
      item.push_back(view(outer_[a], begins_[a], std::move(shape)));
      begins_[a] += size;
    }
    ++at_;
    return true;
  }

 private:
  std::vector<ir::ArrayType> types_;
  std::unique_ptr<Pass> pass_;
  std::vector<HostArray> outer_;
  std::vector<std::int64_t> begins_;  ///< of the next item, in the elements of each array
  std::int64_t at_ = 0, count_ = 0;
};

class Windows final : public FedItems {
 public:
  explicit Windows(const Fed& fed)
      : evaluator_(fed.machine.evaluator()),
        node_(fed.node()),
        hop_(fed.integer(position_of(Op::windows_seq, "hop"))),
        pass_(fed.pass(position_of(Op::windows_seq, "sequence"))),
        scalars_(fed.node().type().arrays[0].scalars),
        held_(scalars_.size()) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(fed.node().type().arrays[0].rank); ++d)
      shape_.push_back(fed.integer(position_of(Op::windows_seq, "shape") + d));
    const std::string wrong = ir::wrong_windows(shape_, hop_);
    if (!wrong.empty()) evaluator_.fail(node_, wrong);
    for (std::size_t d = 1; d < shape_.size(); ++d) row_ *= shape_[d];
  }

  bool next(std::vector<HostArray>& item) override {
    const std::int64_t size = shape_[0] * row_;
    while (std::ssize(held_[0]) < size) {
      std::vector<HostArray> block;
      if (!pass_->next(block)) return false;
      check_rows(*block[0]);
      const std::int64_t skipped = std::min(skip_, block[0]->size() / row_);
      for (std::size_t c = 0; c < scalars_.size(); ++c)
        for (std::int64_t i = skipped * row_; i < block[0]->size(); ++i)
          held_[c].push_back(load(scalars_[c], block[0]->buffers[c].get(), i));
      skip_ -= skipped;
    }
    const HostArray window = anabranch::detail::allocate_array(scalars_, shape_);
    for (std::size_t c = 0; c < scalars_.size(); ++c) {
      for (std::int64_t i = 0; i < size; ++i)
        store(scalars_[c], window->buffers[c].get(), i, held_[c][static_cast<std::size_t>(i)]);
    }
    const std::int64_t passed = std::min(hop_, std::ssize(held_[0]) / row_);
    for (auto& held : held_) held.erase(held.begin(), held.begin() + passed * row_);
    skip_ = hop_ - passed;
    item.assign(1, window);
    return true;
  }

 private:
  /// A block without elements has no rows, of whichever shape.
  void check_rows(const anabranch::detail::ArrayData& block) {
    const auto& extents = block.extents;
    if (block.size() > 0 && !std::equal(shape_.begin() + 1, shape_.end(), extents.begin() + 1))
      evaluator_.fail(node_, ir::other_rows(blocks_, extents, shape_));
    ++blocks_;
  }

  const Evaluator& evaluator_;
  const Node& node_;
  std::vector<std::int64_t> shape_;
  std::int64_t row_ = 1;  ///< elements of one
  std::int64_t hop_;      ///< in rows
  std::unique_ptr<Pass> pass_;
  ir::Scalars scalars_;
  std::vector<std::deque<Bits>> held_;  ///< per component: from the next window's first element on
  std::int64_t skip_ = 0;               ///< rows before them that have not been read
  std::int64_t blocks_ = 0;             ///< that have been read
};

class Accumulated final : public FedItems {
 public:
  explicit Accumulated(const Fed& fed)
      : machine_(fed.machine),
        function_(fed.child(position_of(Op::map_accum_seq, "function"))),
        pass_(fed.pass(position_of(Op::map_accum_seq, "sequence"))) {
    for (const ir::Ref& array : ir::MapAccumSeq(fed.node()).state())
      state_.push_back(machine_.demand(*array));
  }
  bool next(std::vector<HostArray>& item) override {
    std::vector<HostArray> given;
    if (!pass_->next(given)) return false;
    std::vector<HostArray> arguments = state_;
    arguments.insert(arguments.end(), given.begin(), given.end());
    const std::int64_t number = machine_.in_item > 0 ? ir::no_item : number_++;
    const std::vector<HostArray> results = machine_.apply(function_, arguments, number);
    const auto behind = results.begin() + std::ssize(state_);
    state_.assign(results.begin(), behind);
    item.assign(behind, results.end());
    return true;
  }
  std::optional<std::int64_t> length() const override { return pass_->length(); }

 private:
  Machine& machine_;
  Number function_;
  std::unique_ptr<Pass> pass_;
  std::vector<HostArray> state_;
  std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<FedItems> open_fed(Machine& machine, Number sequence, const Node& reader,
                                   const std::shared_ptr<Readings>& readings) {
  const Fed fed{machine, sequence, reader, readings};
  switch (fed.node().op().as<ir::SequenceOp>()) {
    case Op::filter_seq:
      return std::make_unique<Filtered>(fed);
    case Op::take_while_seq:
      return std::make_unique<TakenWhile>(fed);
    case Op::drop_seq:
      return std::make_unique<Dropped>(fed);
    case Op::append_seq:
      return std::make_unique<Appended>(fed);
    case Op::flatten_seq:
      return std::make_unique<Flattened>(fed);
    case Op::windows_seq:
      return std::make_unique<Windows>(fed);
    case Op::map_accum_seq:
      return std::make_unique<Accumulated>(fed);
    case Op::map_seq:
    case Op::project_seq:
    case Op::take_seq:
      break;
  }
  throw InternalError("a sequence that nothing feeds");
}

}  // namespace anabranch::interp
