#pragma once

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "rearrange/rearrange.h"

/// How the routines share their work among threads.
namespace anabranch::rearrange {

/// Elements from which on a part may be the work of all threads.
inline constexpr std::int64_t large_part = std::int64_t{1} << 17;

/// Whether a large part of n elements is the work of all threads, as it always is with one or two. Else one thread has
/// it, beside others: where all of them would have too little each to be worth meeting for, and it is so small a share
/// of the `total` that at the end nobody waits long for it.
inline bool is_for_all(std::int64_t n, std::int64_t total, int threads) {
  return n >= threads * (large_part / 2) || n > total / (2 * threads);
}

/// There is no memory for a part beside the others.
struct NoMemoryBeside {};

/// For a thread that computes a part beside others.
inline Resources of_one_thread(const Resources& all) {
  Resources own = all;
  own.threads = 1;
  own.parallel_for = [&all](std::int64_t n, const std::function<void(std::int64_t)>& f) {
    for (std::int64_t i = 0; i < n; ++i) {
      all.check_stop();
      f(i);
    }
  };
  own.take_memory = [&all](std::int64_t bytes) {
    try {
      return all.take_memory(bytes);
    } catch (const std::exception&) {
      throw NoMemoryBeside();
    }
  };
  return own;
}

/// small(from, to) for each run of small parts, large(i, resources) for each other part i of so many elements: with all
/// threads, one after the other, or with one thread each, beside each other.
template <class Length, class Small, class Large>
void each_run(std::int64_t parts, const Resources& resources, Length&& length, Small&& small, Large&& large) {
  constexpr std::int64_t task_elements = 1 << 15;
  std::vector<std::pair<std::int64_t, std::int64_t>> tasks;
  std::vector<std::int64_t> large_ones;
  std::int64_t begin = 0, elements = 0, total = 0;
  const auto close = [&](std::int64_t end) {
    if (begin < end) tasks.emplace_back(begin, end);
    begin = end;
    elements = 0;
  };
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t n = length(i);
    total += n;
    if (n >= large_part) {
      close(i);
      begin = i + 1;
      large_ones.push_back(i);
      continue;
    }
    elements += n + 16;
    if (elements >= task_elements) close(i + 1);
  }
  close(parts);

  std::vector<std::int64_t> dealt, without_memory;
  for (const std::int64_t i : large_ones)
    if (is_for_all(length(i), total, resources.threads))
      large(i, resources);
    else
      dealt.push_back(i);
  const Resources own = of_one_thread(resources);
  std::mutex mutex;
  const auto run = [&](std::int64_t n) {
    const std::int64_t t = n - std::ssize(dealt);
    if (t >= 0) {
      const auto [from, to] = tasks[static_cast<std::size_t>(t)];
      small(from, to);
      return;
    }
    const std::int64_t i = dealt[static_cast<std::size_t>(n)];
    try {
      large(i, own);
    } catch (const NoMemoryBeside&) {
      const std::lock_guard lock(mutex);
      without_memory.push_back(i);
    }
  };
  if (const std::int64_t all = std::ssize(dealt) + std::ssize(tasks); all > 0)
    resources.parallel_for(all, run);
  // Now these have all of it.
  std::sort(without_memory.begin(), without_memory.end());
  for (const std::int64_t i : without_memory) large(i, resources);
}

/// f(i, resources) for each part i of so many elements.
template <class Length, class F>
void each_part(std::int64_t parts, const Resources& resources, Length&& length, F&& f) {
  const auto run = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) f(i, resources);
  };
  each_run(parts, resources, length, run, f);
}

/// Elements [begin, end) of a large part, one block for each thread or some more.
struct Block {
  std::int64_t number = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline std::int64_t blocks_for(std::int64_t elements, const Resources& resources) {
  constexpr std::int64_t least = 1 << 15;
  return std::clamp<std::int64_t>(elements / least, 1, std::int64_t{resources.threads});
}
template <class F>
void each_block(std::int64_t elements, std::int64_t blocks, const Resources& resources, F&& f) {
  const auto run = [&](std::int64_t b) {
    // No product of large numbers: elements / blocks each, the first ones one more.
    const std::int64_t size = elements / blocks, rest = elements % blocks;
    const std::int64_t begin = b * size + std::min(b, rest);
    f(Block{b, begin, begin + size + (b < rest ? 1 : 0)});
  };
  resources.parallel_for(blocks, run);  // of one block, too: that is where a request to stop is looked at
}

/// f(begin, end) for stretches of a block, one after the other, before each of which a request to stop is looked at: a
/// block may be all of a large part.
template <class F>
void each_stretch(const Block& block, const Resources& resources, F&& f) {
  constexpr std::int64_t stretch = 1 << 20;
  for (std::int64_t begin = block.begin; begin < block.end; begin += stretch) {
    resources.check_stop();
    f(begin, std::min(begin + stretch, block.end));
  }
}
/// f(i) for each element of it.
template <class F>
void each_element(const Block& block, const Resources& resources, F&& f) {
  each_stretch(block, resources, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

/// The failure of the lowest part.
class FirstFailure {
 public:
  void note(std::int64_t part, std::string wrong) {
    const std::lock_guard lock(mutex_);
    if (!first_ || part < first_->part) first_ = Failure{part, std::move(wrong)};
  }
  MayFail get() const { return first_; }

 private:
  std::mutex mutex_;
  MayFail first_;
};

template <class T>
T* take(const Resources& resources, std::int64_t n, std::shared_ptr<void>& owner) {
  constexpr std::int64_t uncounted = 1 << 16;  // bytes; one such piece or a few for each thread
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(T));
  if (bytes <= uncounted) {
    auto own = std::make_shared<std::vector<T>>(static_cast<std::size_t>(n) + 1);
    T* const data = own->data();
    owner = std::move(own);
    return data;
  }
  owner = resources.take_memory(bytes);
  return static_cast<T*>(owner.get());
}

/// f(T{}) for the C++ type of an integer.
template <class F>
decltype(auto) with_integer(ScalarType type, F&& f) {
  switch (type) {
    case ScalarType::int8:
      return f(std::int8_t{});
    case ScalarType::int16:
      return f(std::int16_t{});
    case ScalarType::int32:
      return f(std::int32_t{});
    case ScalarType::uint8:
      return f(std::uint8_t{});
    case ScalarType::uint16:
      return f(std::uint16_t{});
    case ScalarType::uint32:
      return f(std::uint32_t{});
    case ScalarType::uint64:
      return f(std::uint64_t{});
    case ScalarType::boolean:
    case ScalarType::int64:
    case ScalarType::float16:
    case ScalarType::float32:
    case ScalarType::float64:
      break;
  }
  return f(std::int64_t{});
}

/// f(U{}) for the unsigned type of so many bytes.
template <class F>
decltype(auto) with_bytes(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace anabranch::rearrange
