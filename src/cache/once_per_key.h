#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace anabranch::cache {

/// What this process keeps by key: made by whoever asks first, while others that ask wait for him. Beyond `most` values
/// the oldest are dropped, which does not touch copies that were given out. Thread-safe.
template <class T>
class OncePerKey {
 public:
  explicit OncePerKey(std::size_t most) : most_(most) {}

  struct Found {
    T value;
    bool known;  ///< was there, or was being made
  };
  /// make() is called without a lock. What it throws, all who wait get; the next who asks makes the value anew.
  template <class Make>
  Found find_or_make(const std::string& key, Make&& make) {
    std::promise<T> promise;
    const std::shared_future<T> own = promise.get_future().share();
    if (const std::shared_future<T> known = find_or_add(key, own); known.valid()) return {known.get(), true};
    try {
      T made = make();
      promise.set_value(made);
      return {std::move(made), false};
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        entries_.erase(key);
      }
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  /// Drops all values but those that are being made.
  void clear() {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const auto& entry) { return entry.second.is_made(); });
  }

 private:
  struct Entry {
    std::shared_future<T> value;
    std::int64_t number;  ///< rises from entry to entry
    bool is_made() const { return value.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  };

  /// What is known by the key; invalid: nothing was, and `own` has been added.
  std::shared_future<T> find_or_add(const std::string& key, const std::shared_future<T>& own) {
    const std::lock_guard lock(mutex_);
    const auto [at, added] = entries_.try_emplace(key, Entry{own, added_});
    if (!added) return at->second.value;
    ++added_;
    if (entries_.size() > most_) drop_oldest();
    return {};
  }

  void drop_oldest() {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at)
      if (at->second.is_made() && (oldest == entries_.end() || at->second.number < oldest->second.number))
        oldest = at;
    if (oldest != entries_.end()) entries_.erase(oldest);
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  std::int64_t added_ = 0;
};

}  // namespace anabranch::cache
