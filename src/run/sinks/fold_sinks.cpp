#include "run/sinks/fold_sinks.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "ir/batch.h"
#include "ir/extents.h"
#include "run/context/computing.h"
#include "run/context/item_list.h"

namespace anabranch::runtime {

namespace {

/// What both have in common: the room of a part, and a sum of which nobody knows how large it will be.
class FoldSink : public Sink {
 public:
  explicit FoldSink(const SinkWork& work)
      : context_(work.context),
        type_(work.array.type),
        node_(*work.array.node),
        into_(work.into),
        seed_(work.arrays[0]),
        beside_(work.beside),
        functions_(work.functions),
        elements_of_item_(work.elements_of_item),
        reservation_(work.context.reserve("items that are joined", 0)) {}

  bool order_matters() const final { return true; }
  std::vector<void*> room(std::int64_t elements) final {
    // What joining takes has to be left: once a part is committed, it is too late to try a smaller one.
    const std::int64_t bytes = elements * width_of(type_);
    context_.resize(reservation_, held_bytes() + bytes + bytes_to_join(std::max(elements, held_elements())));
    reservation_.resize(held_bytes() + bytes);
    room_.clear();
    std::vector<void*> addresses;
    for (const ScalarType s : type_.scalars) {
      room_.push_back(
          context_.memory.share(context_.memory.take(static_cast<std::size_t>(elements) * size_of(s) + 64)));
      addresses.push_back(room_.back().get());
    }
    return addresses;
  }
  void forget_room() final { (void)let_go_of_room(); }
  std::int64_t bytes_to_commit(std::int64_t elements) const final { return bytes_to_join(elements); }
  std::int64_t elements() const final { return elements_; }
  scheduler::Reservation take_reservation() final { return std::move(reservation_); }

 protected:
  /// The elements of the part that has been committed.
  std::vector<const void*> components() const {
    std::vector<const void*> all;
    for (const auto& memory : room_) all.push_back(memory.get());
    return all;
  }
  void count(std::int64_t items, const PartShape::Result& part) {
    elements_ += part.elements;
    // Large ones are few.
    if (part.elements < least_joined || items == 0) return;
    std::int64_t largest = elements_of_item_;
    for (std::int64_t i = 0; i < items; ++i)
      largest = std::max(largest, ir::elements_of_item(part.extents, i));
    elements_of_item_ = largest;
  }
  /// Besides the room of a part.
  virtual std::int64_t held_bytes() const { return 0; }
  virtual std::int64_t held_elements() const { return 0; }
  /// The part that has been committed is not looked at any more. False: what is held of it takes more than it did, and others
  /// have taken what there was; then it is counted with the next part.
  bool let_go_of_room() {
    room_.clear();
    try {
      reservation_.resize(held_bytes());
    } catch (const scheduler::BudgetExceeded&) {
      return false;
    }
    return true;
  }
  static constexpr std::int64_t least_joined = 1 << 12;  ///< elements at once, where memory is short

  /// The function's results. What others hold while they compute it may need: by then it is too late to try less.
  std::vector<HostArray> apply(std::size_t function, const std::vector<HostArray>& arguments) const {
    return when_others_gave_back(context_, beside_,
                                 [&] { return functions_[function](arguments, ir::no_item, {}); });
  }
  /// Counted, as what functions give is.
  std::shared_ptr<void> take_memory(std::int64_t bytes) const {
    return when_others_gave_back(context_, beside_,
                                 [&] { return context_.take_counted("items that are joined", bytes); });
  }
  HostArray joined(const HostArray& left, const HostArray& right) const { return apply(1, {left, right})[0]; }
  /// What `consume` gives: nobody else has it.
  HostArray own(const HostArray& result) {
    room_.clear();
    context_.resize(reservation_, bytes_of(*result));
    if (!into_) return detail::copy_of(*result);
    check_capacity(*into_, result->size(), node_);
    const HostArray given = in_memory_of(*into_, result->extents);
    copy_elements(&context_.executor, *result, *given);
    return given;
  }
  static std::int64_t bytes_of(const detail::ArrayData& array) {
    std::int64_t bytes = 0;
    for (const ScalarType s : array.scalars) bytes += array.size() * static_cast<std::int64_t>(size_of(s));
    return bytes;
  }

  RunContext& context_;
  const ir::ArrayType& type_;
  const ir::Node& node_;
  const HostArray into_;
  const HostArray seed_;

 private:
  /// Of small items some together, of large ones a tree on each level, one that is joined to it and what they make.
  std::int64_t bytes_to_join(std::int64_t elements) const {
    constexpr std::int64_t of_small_items = 1 << 14;  // with what a run has of its own
    // Before the first large one it may be all of them.
    const std::int64_t known = elements_of_item_, item = known == 0 ? elements : std::min(elements, known);
    const int levels = item == 0 ? 0 : std::bit_width(static_cast<std::uint64_t>(elements / item));
    return std::max(4 * std::min(elements, least_joined), (2 + levels) * item) * width_of(type_) +
           of_small_items;
  }

  const std::atomic<int>& beside_;
  const std::vector<ApplyFunction> functions_;
  std::vector<std::shared_ptr<void>> room_;
  std::atomic<std::int64_t> elements_of_item_;  ///< the largest so far
  scheduler::Reservation reservation_;
  std::int64_t elements_ = 0;
};

class FoldSeqSink final : public FoldSink {
 public:
  explicit FoldSeqSink(const SinkWork& work) : FoldSink(work), gathered_(work.array.type) {}

  void commit(std::int64_t items, const PartShape::Result& part) override {
    count(items, part);
    if (gathers(items, part)) return;
    join_gathered();
    join_all(ItemView(type_, components(), part.extents, items));
    let_go_of_room();
  }

  HostArray finish() override {
    join_gathered();
    HostArray sum = seed_;
    for (std::size_t level = pending_.size(); level-- > 0;)
      if (pending_[level]) sum = joined(sum, *pending_[level]);
    return own(sum);
  }

 private:
  /// Items of one level that lie back to back, and what keeps their memory.
  class ItemView {
   public:
    ItemView(const ir::ArrayType& type, std::vector<const void*> components, ir::ItemExtents extents,
             std::int64_t items)
        : type_(&type),
          components_(std::move(components)),
          extents_(std::move(extents)),
          all_items_(items),
          elements_(type.rank == 0 ? items : 0) {
      for (auto& each : extents_)
        if (each.size() == 1) each.assign(static_cast<std::size_t>(items), each[0]);
      for (std::int64_t i = 0; i < items && type.rank > 0; ++i)
        elements_ += ir::elements_of_item(extents_, i);
    }
    /// Of what pairs_of_batch gives.
    ItemView(const ir::ArrayType& type, std::vector<HostArray> results, std::int64_t items)
        : ItemView(type, addresses(*results[0]), numbers(results), items) {
      owner_ = std::move(results);
    }

    std::int64_t items() const { return all_items_ - at_; }
    /// So many of those that are left have about so many elements; two, where they are large.
    std::int64_t items_of(std::int64_t elements) const {
      const std::int64_t of_item = elements_ / std::max<std::int64_t>(all_items_, 1) + 1;
      return std::min(items(), std::max<std::int64_t>(elements / of_item, 2));
    }
    /// The next one, as an array of its own, in memory that `memory` gives.
    template <class Memory>
    HostArray take(Memory&& memory) {
      const std::int64_t i = at_++;
      auto array = std::make_shared<detail::ArrayData>();
      array->scalars = type_->scalars;
      for (const auto& each : extents_) array->extents.push_back(each[static_cast<std::size_t>(i)]);
      for (std::size_t c = 0; c < components_.size(); ++c) {
        const auto width = static_cast<std::int64_t>(size_of(type_->scalars[c]));
        array->buffers.push_back(memory(array->size() * width));
        std::copy_n(static_cast<const std::byte*>(components_[c]) + begin_ * width, array->size() * width,
                    static_cast<std::byte*>(array->buffers[c].get()));
      }
      begin_ += array->size();
      return array;
    }
    /// The next `count`, as a function of a batch takes them. They point into this view: valid until
    /// the next call, or until it goes.
    std::vector<HostArray> arguments(std::int64_t count) {
      // Single elements are found by their numbers, all others by where they begin.
      const std::int64_t first = begin_;
      std::vector<const void*> components = components_;
      for (std::size_t c = 0; c < components.size(); ++c)
        components[c] = static_cast<const std::byte*>(components[c]) +
                        first * static_cast<std::int64_t>(size_of(type_->scalars[c]));
      begins_.clear();
      if (type_->rank == 0) {
        begin_ += count;
      } else {
        begins_.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = at_; i < at_ + count; ++i) {
          begins_.push_back(begin_ - first);
          begin_ += ir::elements_of_item(extents_, i);
        }
      }
      std::vector<HostArray> all{scalar(count), vector(type_->scalars, components, begin_ - first),
                                 vector({ScalarType::int64}, {begins_.data()}, std::ssize(begins_))};
      for (const auto& each : extents_)
        all.push_back(vector({ScalarType::int64}, {each.data() + at_}, count));
      at_ += count;
      return all;
    }

   private:
    static std::vector<const void*> addresses(const detail::ArrayData& array) {
      std::vector<const void*> all;
      for (const auto& buffer : array.buffers) all.push_back(buffer.get());
      return all;
    }
    static ir::ItemExtents numbers(const std::vector<HostArray>& results) {
      ir::ItemExtents all;
      for (std::size_t d = 1; d < results.size(); ++d) {
        const auto* const values = static_cast<const std::int64_t*>(results[d]->buffers[0].get());
        all.emplace_back(values, values + results[d]->size());
      }
      return all;
    }

    const ir::ArrayType* type_;
    std::vector<const void*> components_;
    ir::ItemExtents extents_;  ///< per dimension, of each item
    std::int64_t all_items_;
    std::int64_t elements_;  ///< of all items
    std::int64_t at_ = 0;
    std::int64_t begin_ = 0;            ///< elements before those of `at_`
    std::vector<std::int64_t> begins_;  ///< of the last arguments, from the first of them
    std::vector<HostArray> owner_;
  };

  std::int64_t held_bytes() const override { return gathered_.bytes(); }
  std::int64_t held_elements() const override { return gathered_.elements(); }

  /// Functions are programs, some ten microseconds each: few small items wait for others. Whether these do.
  bool gathers(std::int64_t items, const PartShape::Result& part) {
    const std::int64_t bytes = part.elements * width_of(type_) + items * 8 * (type_.rank + 1);
    const auto are_few = [](std::int64_t count) { return count <= least_joined; };
    if (!are_few(gathered_.items() + items) || !are_few(gathered_.elements() + part.elements) ||
        gathered_.bytes() + bytes > context_.budget.available() / 16)
      return false;
    gathered_.append(components(), part.extents, 0, items, 0);
    if (!let_go_of_room()) {
      join_gathered();
      let_go_of_room();
    }
    return true;
  }

  void join_gathered() {
    if (gathered_.items() == 0) return;
    join_all(ItemView(type_, gathered_.components(), gathered_.extents(), gathered_.items()));
    gathered_.clear();
  }

  /// Joining takes memory: it is done in parts, of which the same trees come.
  void join_all(ItemView view) {
    const std::int64_t elements = std::clamp<std::int64_t>(
        context_.budget.available() / (8 * std::max<std::int64_t>(width_of(type_), 1)), least_joined,
        1 << 18);
    while (view.items() > 0) join(view, view.items_of(elements));
  }

  /// The next `items`, with the trees that are there.
  void join(ItemView& items_of_part, std::int64_t items) {
    std::optional<HostArray> first;
    ItemView above = join_level(0, first, items_of_part, items);
    for (std::size_t level = 1; first || above.items() > 0; ++level)
      above = join_level(level, first, above, above.items());
  }

  /// Joins neighbours: what waits on this level, which came before, then `first`, then so many of the view. What they come to
  /// is the level above.
  ItemView join_level(std::size_t level, std::optional<HostArray>& first, ItemView& view,
                      std::int64_t items) {
    if (level == pending_.size()) pending_.emplace_back();
    std::optional<HostArray>& pending = pending_[level];
    std::optional<HostArray> next;
    const auto take_one = [&] { return view.take([&](std::int64_t bytes) { return take_memory(bytes); }); };
    const auto take = [&] {
      --items;
      return take_one();
    };
    if (pending) {
      next = joined(*pending, first ? *first : take());
      pending.reset();
    } else if (first && items > 0) {
      next = joined(*first, take());
    } else if (first) {
      pending = std::move(first);
    }
    first = std::move(next);
    const std::int64_t pairs = items / 2;
    std::vector<HostArray> above;
    if (pairs > 0) above = apply(0, view.arguments(2 * pairs));
    if (items % 2 == 1) pending = take_one();
    return pairs > 0 ? ItemView(type_, std::move(above), pairs) : ItemView(type_, {}, {}, 0);
  }

  ItemList gathered_;  ///< items that have not been joined
  std::vector<std::optional<HostArray>>
      pending_;  ///< per level: a complete tree that waits for its right neighbour
};

class FoldBatchSink final : public FoldSink {
 public:
  explicit FoldBatchSink(const SinkWork& work) : FoldSink(work), batch_(work.array.type), sum_(seed_) {}

  void commit(std::int64_t items, const PartShape::Result& part) override {
    count(items, part);
    std::int64_t begin = 0, first = 0;
    while (begin < items) {
      const std::int64_t end = end_of_batch(part.extents, begin, items);
      first = batch_.append(components(), part.extents, begin, end, first);
      begin = end;
      if (is_whole()) join();
    }
    let_go_of_room();
  }

  HostArray finish() override {
    if (batch_.items() > 0) join();
    return own(sum_);
  }

 private:
  bool is_whole() const {
    return batch_.elements() >= ir::batch_elements || batch_.items() >= ir::batch_items;
  }
  std::int64_t held_bytes() const override { return batch_.bytes(); }

  /// Behind the item with which the batch is whole.
  std::int64_t end_of_batch(const ir::ItemExtents& extents, std::int64_t begin, std::int64_t items) const {
    std::int64_t elements = batch_.elements(), count = batch_.items();
    for (std::int64_t i = begin; i < items; ++i) {
      elements += ir::elements_of_item(extents, i);
      if (elements >= ir::batch_elements || ++count >= ir::batch_items) return i + 1;
    }
    return items;
  }

  void join() {
    const HostArray of_batch = apply(0, batch_.arguments())[0];
    sum_ = joined(sum_, of_batch);
    if (batch_.holds(*sum_)) sum_ = detail::copy_of(*sum_);
    batch_.clear();
  }

  ItemList batch_;
  HostArray sum_;
};

}  // namespace

std::unique_ptr<Sink> make_fold_seq(const SinkWork& work) { return std::make_unique<FoldSeqSink>(work); }
std::unique_ptr<Sink> make_fold_batch(const SinkWork& work) { return std::make_unique<FoldBatchSink>(work); }

}  // namespace anabranch::runtime
