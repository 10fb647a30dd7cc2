#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <anabranch/detail/core.h>
#include <anabranch/push_options.h>

/// The erased core under push.h.
namespace anabranch::detail {

using ItemData = std::vector<std::shared_ptr<ArrayData>>;

/// A program that pushed items drive.
class ANABRANCH_API Pusher {
 public:
  /// Given the arrays of each item of a sequence when it has been computed. Empty: items wait to be taken.
  using OnItem = std::function<void(ItemData)>;
  /// The program, of the sequence of what is pushed: one sequence, whose items are given; or array computations, whose values
  /// `finish` gives.
  using Build = std::function<Handles(const Handle& pushed)>;

  Pusher(const std::vector<std::vector<ScalarType>>& scalars, const std::vector<int>& ranks,
         const Build& build, const RunOptions& options, const PushOptions& push, OnItem on_item, Place at);
  ~Pusher();
  Pusher(Pusher&&) noexcept;
  Pusher& operator=(Pusher&&) noexcept;

  /// Takes an item. False: `waits` was false, and too many results wait.
  bool push(const ItemData& item, bool waits);
  void flush();
  /// The arrays of the next item that has been computed. `now`: where there is none, what has been gathered is computed;
  /// else where it is due.
  bool take(ItemData& item, bool now);
  bool over() const;
  ItemData finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::detail
