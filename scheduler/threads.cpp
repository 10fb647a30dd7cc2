#include "scheduler/threads.h"

#include <pthread.h>

#include <latch>
#include <string>
#include <system_error>
#include <vector>

namespace anabranch::scheduler {
namespace {

constexpr std::size_t stack_bytes = std::size_t{4} << 20;  // of oneTBB's workers

// All are let through at once: at a mutex each of many would have to wake the next one.
void* wait_at(void* gate) {
  static_cast<std::latch*>(gate)->wait();
  return nullptr;
}

}  // namespace

void try_threads(int count) {
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<std::size_t>(count));
  pthread_attr_t attributes;
  int failed = pthread_attr_init(&attributes);
  if (!failed) failed = pthread_attr_setstacksize(&attributes, stack_bytes);
  std::latch gate(1);
  while (!failed && static_cast<int>(threads.size()) < count) {
    pthread_t thread;
    failed = pthread_create(&thread, &attributes, wait_at, &gate);
    if (!failed) threads.push_back(thread);
  }
  gate.count_down();
  pthread_attr_destroy(&attributes);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (failed)
    throw NoThreads("the system gives " + std::to_string(threads.size()) + " of the " +
                    std::to_string(count) +
                    " threads wanted beside this one: " + std::generic_category().message(failed));
}

}  // namespace anabranch::scheduler
