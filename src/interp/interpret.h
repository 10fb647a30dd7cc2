#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "interp/bits.h"
#include "ir/node.h"

/// The reference interpreter: executes a program as it was written, element by element and item by item,
/// never lifted and never fused. What it computes is what the program means; it is written to be read, not to
/// be fast.
///
/// Memory: arrays that do not depend on an item stay until the end of the run; of a stream one item is held
/// at a time (tabulate holds all of them).
namespace anabranch::interp {

/// Called after every item of a pass: how many there have been, and how many there will be, where that is
/// known.
using OnItem = std::function<void(std::int64_t items, std::optional<std::int64_t> total)>;
/// Called with each line that the program prints.
using OnLine = std::function<void(std::string_view line)>;

/// What a run tells while it goes on. Each may be empty.
struct Callbacks {
  OnItem on_item{};
  OnLine on_line{};
  /// Called with the values, of which it may move some elsewhere, when all has been computed, before what was written appears.
  std::function<void(std::vector<HostArray>& values)> on_values{};
  /// Called after that; and as the last of what appears, unless it throws.
  std::function<void()> on_computed{}, on_written{};
};

/// The values of these array computations. Each sink makes one pass of its own over its sequence, however
/// often it is used. They own their elements: none shares memory with an input or another value. Throws
/// RunError where the program has no meaning for its values, whatever a source or a callback throws,
/// Cancelled.
std::vector<HostArray> run(std::span<const ir::Ref> arrays, std::stop_token stop = {},
                           Callbacks callbacks = {});

/// Whether this computation of them meets a stream without items. For tests: an error in the function of one is raised by
/// the interpreter where the function does not look at its item, by back ends also where they find out that what it looks
/// at, a shape, is the same for all.
bool meets_no_item(std::span<const ir::Ref> arrays, std::stop_token stop = {});

/// The items of a sequence, computed as they are asked for.
class ItemStream {
 public:
  /// Computes what does not depend on an item and opens the sources.
  explicit ItemStream(ir::Ref sequence, std::stop_token stop = {}, Callbacks callbacks = {});
  ~ItemStream();
  ItemStream(ItemStream&&) noexcept;
  ItemStream& operator=(ItemStream&&) noexcept;

  /// The next item, one array per component, which own their elements; false at the end, and ever after.
  bool next(std::vector<HostArray>& item);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anabranch::interp
