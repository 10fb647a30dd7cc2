#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "device/primitives.h"
#include "device/rearrange.h"

namespace anabranch::device {
namespace {

/// Where pieces of temporary storage begin.
constexpr std::size_t alignment = 256;

/// The steps of rearrange.h as plain loops.
class HostEngine {
 public:
  explicit HostEngine(const Temporary& temporary) : temporary_(temporary) {}

  bool sizing() const { return !temporary_.at; }
  std::size_t used() const { return used_; }

  template <class T>
  T* take(std::int64_t n) {
    const std::size_t begin = used_;
    used_ += (static_cast<std::size_t>(n) * sizeof(T) + alignment - 1) / alignment * alignment;
    return sizing() ? nullptr : reinterpret_cast<T*>(static_cast<std::byte*>(temporary_.at) + begin);
  }

  template <class F>
  void each(std::int64_t n, const F& f) {
    if (sizing()) return;
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }

  template <class Key>
  void sort(Twice<Key>& keys, std::int64_t n, int bits) {
    if (sizing()) return;
    std::copy_n(keys.first, n, keys.second);
    std::stable_sort(keys.second, keys.second + n,
                     [&](Key a, Key b) { return lowest(a, bits) < lowest(b, bits); });
    std::swap(keys.first, keys.second);
  }
  template <class Key>
  void sort(Twice<Key>& keys, Twice<std::uint32_t>& numbers, std::int64_t n, int bits) {
    if (sizing()) return;
    sort_range(keys, numbers, 0, n, bits);
    std::swap(keys.first, keys.second);
    std::swap(numbers.first, numbers.second);
  }
  template <class Key>
  void sort_parts(Twice<Key>& keys, Twice<std::uint32_t>& numbers, const Parts& parts) {
    if (sizing()) return;
    for (std::int64_t part = 0; part < parts.count; ++part)
      sort_range(keys, numbers, begin_of(parts, part), length_of(parts, part), 8 * sizeof(Key));
    std::swap(keys.first, keys.second);
    std::swap(numbers.first, numbers.second);
  }

  template <class F>
  void sum(std::int64_t n, const F& f, std::int64_t* sums) {
    if (sizing()) return;
    sums[0] = 0;
    for (std::int64_t i = 0; i < n; ++i) sums[i + 1] = smaller(sums[i] + f(i), most_sum);
  }

  void select(const std::uint8_t* mask, std::int64_t n, std::uint32_t* numbers, std::int64_t* count) {
    if (sizing()) return;
    *count = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (mask[i] != 0) numbers[(*count)++] = static_cast<std::uint32_t>(i);
  }

  template <class F>
  void count(std::int64_t n, const F& f, std::int64_t* counts, std::int64_t) {
    each(n, [&](std::int64_t i) {
      if (const std::int64_t at = f(i); at >= 0) ++counts[at];
    });
  }
  template <class F, class Value, class W>
  void join(std::int64_t n, const F& f, const Value& value, const Joining<W>& how, W* to,
            std::int64_t total) {
    each(total, Fill<W>{to, how.neutral});
    each(n, [&](std::int64_t i) {
      if (const std::int64_t at = f(i); at >= 0) how(to + at, value(i));
    });
  }

 private:
  template <class Key>
  static Key lowest(Key key, int bits) {
    return bits >= static_cast<int>(8 * sizeof(Key)) ? key : static_cast<Key>(key & ((Key{1} << bits) - 1));
  }
  template <class Key>
  static void sort_range(const Twice<Key>& keys, const Twice<std::uint32_t>& numbers, std::int64_t begin,
                         std::int64_t n, int bits) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), begin);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return lowest(keys.first[a], bits) < lowest(keys.first[b], bits);
    });
    for (std::int64_t i = 0; i < n; ++i) {
      keys.second[begin + i] = keys.first[order[static_cast<std::size_t>(i)]];
      numbers.second[begin + i] = numbers.first[order[static_cast<std::size_t>(i)]];
    }
  }

  Temporary temporary_;
  std::size_t used_ = 0;
};

/// First for the storage alone: so what is refused is refused before anything is computed, as on a GPU.
template <class What>
Status rearranged(const What* what, Temporary* temporary, Status (*operation)(HostEngine&, const What&)) {
  HostEngine sizing({});
  if (const Status status = operation(sizing, *what); status != done) return status;
  const std::size_t needed = sizing.used() + alignment;
  if (!temporary->at) {
    temporary->bytes = needed;
    return done;
  }
  if (temporary->bytes < needed) return bad_argument;
  std::memset(temporary->at, 0xa5, needed);  // callers cannot rely on its contents
  HostEngine engine(*temporary);
  return operation(engine, *what);
}

Status host_sort(const Sort* what, Temporary* temporary, Stream) {
  return rearranged<Sort>(what, temporary, sort);
}
Status host_select(const Select* what, Temporary* temporary, Stream) {
  return rearranged<Select>(what, temporary, select);
}
Status host_group(const Group* what, Temporary* temporary, Stream) {
  return rearranged<Group>(what, temporary, group);
}
Status host_last_at(const LastAt* what, Temporary* temporary, Stream) {
  return rearranged<LastAt>(what, temporary, last_at);
}
Status host_accumulate(const Accumulate* what, Temporary* temporary, Stream) {
  return rearranged<Accumulate>(what, temporary, accumulate);
}
Status host_repeat(const Repeat* what, Temporary* temporary, Stream) {
  return rearranged<Repeat>(what, temporary, repeat);
}

Status host_item_offsets(const ItemOffsets* what, Temporary* temporary, Stream) {
  if (const Status status = check_rank(*what); status != done) return status;
  if (what->count < 0) return bad_argument;
  if (!temporary->at) {
    temporary->bytes = alignment;
    return done;
  }
  if (temporary->bytes < alignment) return bad_argument;
  ItemTotals before{};
  for (std::int64_t i = 0; i < what->count; ++i) {
    what->offsets[i] = before.elements;
    const std::int64_t size = item_size(*what, i);
    before = JoinTotals{}(before, {size, size});
  }
  what->offsets[what->count] = before.elements;
  *what->totals = before;
  return done;
}

Status devices(int* count) {
  *count = 1;
  return done;
}

const char* text(Status status) {
  const char* known = text_of(status);
  return known ? known : "unknown error";
}

}  // namespace

const Table& host_table() {
  static constexpr Table table{devices,         text,        host_sort,
                               host_select,     host_group,  host_last_at,
                               host_accumulate, host_repeat, host_item_offsets};
  return table;
}

}  // namespace anabranch::device
