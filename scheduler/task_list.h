// Tasks that wait for a thread, oldest first.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <utility>

namespace anabranch::scheduler {

/// Guarded by its user's lock.
class TaskList {
 public:
  using Task = std::function<void()>;

  bool empty() const noexcept { return tasks_.empty(); }
  std::size_t size() const noexcept { return tasks_.size(); }

  void push_back(Task task, const void* owner) { tasks_.push_back({std::move(task), owner}); }
  void pop_back() noexcept { tasks_.pop_back(); }
  Task take_front() {
    Task task = std::move(tasks_.front().task);
    tasks_.pop_front();
    return task;
  }
  /// Those of `owner`. What a task holds goes with it, so it should go without the lock.
  [[nodiscard]] TaskList take_all_of(const void* owner) noexcept {
    TaskList taken;
    for (auto entry = tasks_.begin(); entry != tasks_.end();) {
      const auto next = std::next(entry);
      if (entry->owner == owner) taken.tasks_.splice(taken.tasks_.end(), tasks_, entry);
      entry = next;
    }
    return taken;
  }

 private:
  struct Entry {
    Task task;
    const void* owner;
  };
  std::list<Entry> tasks_;
};

}  // namespace anabranch::scheduler
