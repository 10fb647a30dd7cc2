#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <anabranch/acc.h>
#include <anabranch/ragged.h>
#include <anabranch/run.h>
#include <anabranch/scan.h>
#include <anabranch/seq.h>

/// The items of a sequence of vectors as one host array of vectors.
namespace anabranch {

/// A computation whose value is a Ragged<T>: what `consume(ragged(s))` gives, for `run`, `compile` and `push_stream`, alone or in a
/// std::tuple. Its parts are arrays like any other.
template <class T>
class RaggedAcc {
 public:
  RaggedAcc(Acc<Vector<std::int64_t>> offsets, Acc<Vector<T>> values)
      : offsets_(std::move(offsets)), values_(std::move(values)) {}

  /// One more than there are vectors, from 0 on.
  const Acc<Vector<std::int64_t>>& offsets() const { return offsets_; }
  const Acc<Vector<T>>& values() const { return values_; }

 private:
  Acc<Vector<std::int64_t>> offsets_;
  Acc<Vector<T>> values_;
};

/// What `ragged` gives, still to be consumed.
template <class T>
class RaggedTerminal {
 public:
  explicit RaggedTerminal(Seq<Vector<T>> items) : items_(std::move(items)) {}
  const Seq<Vector<T>>& items() const { return items_; }

 private:
  Seq<Vector<T>> items_;
};

/// The items, vectors of any lengths, as a Ragged<T>: elements and lengths are computed in one pass and written where they belong.
///
///     Ragged<float> loud = run(consume(ragged(map_seq(f, s))));
template <class T>
RaggedTerminal<T> ragged(const Seq<Vector<T>>& s) {
  return RaggedTerminal<T>(s);
}

template <class T>
RaggedAcc<T> consume(const RaggedTerminal<T>& terminal, detail::Loc at = detail::Loc::current()) {
  const auto length = [&](const Acc<Vector<T>>& item) { return unit(size(item, at), at); };
  const auto lengths = consume(elements(map_seq(length, terminal.items(), at), at), at);
  return {scanl(plus, std::int64_t{0}, lengths, 0, at), consume(elements(terminal.items(), at), at)};
}

namespace detail {

template <class T>
struct IsSequence<RaggedTerminal<T>> : std::true_type {};

template <class T>
struct ResultOf<RaggedAcc<T>> {
  using type = Ragged<T>;
  using References = Ragged<T>&;
  static constexpr std::size_t arrays = 2;
  static Handles handles(const RaggedAcc<T>& a) { return {a.offsets().handle(), a.values().handle()}; }
  static type wrap(std::span<const std::shared_ptr<ArrayData>> results) {
    return type::from_offsets(Vector<std::int64_t>(results[0]), Vector<T>(results[1]));
  }
  using OnDevice = Ragged<T>;
  static OnDevice wrap_on_device(std::span<const std::shared_ptr<ArrayData>> results) {
    return wrap(std::vector{own(*results[0]), own(*results[1])});
  }
  /// Offsets get memory of their own, so that they belong to the values in every handle, and where the run fails.
  static std::vector<std::shared_ptr<ArrayData>> memory(const type& into) {
    const std::shared_ptr<ArrayData>& offsets = into.offsets().erased();
    return {offsets ? room_like(*offsets) : offsets, into.values().erased()};
  }

 private:
  /// On the host only.
  static std::shared_ptr<ArrayData> own(const ArrayData& array) {
    bring_home(array);
    auto out = std::make_shared<ArrayData>(array);
    out->residence = nullptr;
    return out;
  }
};

}  // namespace detail
}  // namespace anabranch
