#include "support/gpu_host/executor.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "support/gpu_host/fiber.h"

#define GPU_HOST_EXECUTOR
#include "support/gpu_host/shim.h"

namespace anabranch::gpu_host {

struct HostModule::Loaded {
  struct Entry {
    void (*call)(const void* words) = nullptr;
    std::size_t bytes = 0;
  };
  void* library = nullptr;
  const ::gpu_host::Indices** (*current)() = nullptr;
  std::map<std::string, Entry> entries;
};

namespace {

using ::gpu_host::Api;
using ::gpu_host::Block;
using ::gpu_host::Indices;
using ::gpu_host::Site;
using ::gpu_host::Warp;

const char* name_of(Block operation) {
  switch (operation) {
    case Block::sync:
      return "__syncthreads";
    case Block::sync_or:
      return "__syncthreads_or";
    case Block::sync_and:
      return "__syncthreads_and";
    case Block::sync_count:
      return "__syncthreads_count";
  }
  return "?";
}

const char* name_of(Warp operation) {
  switch (operation) {
    case Warp::sync:
      return "__syncwarp";
    case Warp::shuffle:
      return "__shfl_sync";
    case Warp::shuffle_up:
      return "__shfl_up_sync";
    case Warp::shuffle_down:
      return "__shfl_down_sync";
    case Warp::shuffle_xor:
      return "__shfl_xor_sync";
    case Warp::ballot:
      return "__ballot_sync";
    case Warp::any:
      return "__any_sync";
    case Warp::all:
      return "__all_sync";
  }
  return "?";
}

std::string to_string(Site site) {
  const std::string file = site.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line);
}

bool same(Site a, Site b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

enum class State { runnable, at_block, at_warp, ended };

struct Thread {
  Indices indices{};
  State state = State::runnable;
  Site site{};
  Block block{};
  int predicate = 0;
  Warp warp{};
  unsigned mask = 0;
  std::uint64_t value = 0, result = 0;
  int lane = 0, width = 32;
};

/// One block at a time, on the calling OS thread.
class Machine {
 public:
  Machine(const HostModule::Loaded& loaded, const HostModule::Loaded::Entry& entry, const std::string& name,
          Dim grid, Dim block, const void* words)
      : entry_(entry), name_(name), grid_(grid), words_(words), now_(loaded.current()) {
    const std::size_t size = std::size_t{block.x} * block.y * block.z;
    threads_.resize(size);
    for (unsigned t = 0; t < size; ++t)
      threads_[t].indices = {{t % block.x, t / block.x % block.y, t / block.x / block.y},
                             {},
                             {block.x, block.y, block.z},
                             {grid.x, grid.y, grid.z}};
    fibers_.reserve(size);
    auto& stacks = pool();
    while (stacks.size() < size) stacks.emplace_back();
    find_shared_memory(loaded.library);
  }

  void run(std::uint64_t number, std::uint64_t seed);

  static const Api api;

 private:
  static std::deque<FiberStack>& pool() {
    static thread_local std::deque<FiberStack> stacks;
    return stacks;
  }
  static thread_local Machine* here;

  void find_shared_memory(void* library);
  std::size_t pick();
  void wait();  // from a fiber
  static void body(void* machine);

  int arrive_block(Block operation, int predicate, Site site);
  std::uint64_t arrive_warp(Warp operation, unsigned mask, std::uint64_t value, int lane, int width,
                            Site site);
  void complete_block();
  void complete_warp(std::size_t first, unsigned mask);
  void wake(std::size_t t) {
    threads_[t].state = State::runnable;
    runnable_.push_back(t);
  }
  std::string place() const;
  std::string waiting() const;
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = place() + what;
  }

  const HostModule::Loaded::Entry& entry_;
  const std::string& name_;
  Dim grid_;
  const void* words_;
  const Indices** now_;
  std::span<char> shared_;

  FiberHost host_;
  std::vector<Thread> threads_;
  std::vector<Fiber> fibers_;
  std::deque<std::size_t> runnable_;
  std::size_t running_ = 0, at_block_ = 0, ended_ = 0;
  std::vector<unsigned> at_warp_;  ///< of each warp: the lanes that wait at an operation of warps
  enum class Policy { in_order, any, latest } policy_ = Policy::in_order;
  std::mt19937_64 random_;
  std::uint64_t number_ = 0;
  std::string failure_;
};

thread_local Machine* Machine::here = nullptr;

const Api Machine::api = {
    [](Block operation, int predicate, Site site) { return here->arrive_block(operation, predicate, site); },
    [](Warp operation, unsigned mask, std::uint64_t value, int lane, int width, Site site) {
      return here->arrive_warp(operation, mask, value, lane, width, site);
    },
    [] {
      here->wake(here->running_);
      here->wait();
    },
    [](const char* what, Site site) {
      here->fail("thread " + std::to_string(here->running_) + ": " + what + " (" + to_string(site) + ")");
      here->threads_[here->running_].state = State::ended;
      here->wait();
    },
};

/// Shared memory is the module's thread-local memory. Where it is stays so for this OS thread.
void Machine::find_shared_memory(void* library) {
  static thread_local std::unordered_map<void*, std::span<char>> known;
  if (const auto at = known.find(library); at != known.end()) {
    shared_ = at->second;
    return;
  }
  ::link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  struct Search {
    ElfW(Addr) at;
    Machine* machine;
  } search{map->l_addr, this};
  ::dl_iterate_phdr(
      [](::dl_phdr_info* info, std::size_t, void* data) {
        const auto& wanted = *static_cast<Search*>(data);
        if (info->dlpi_addr != wanted.at) return 0;
        for (int k = 0; k < info->dlpi_phnum; ++k)
          if (info->dlpi_phdr[k].p_type == PT_TLS && info->dlpi_tls_data)
            wanted.machine->shared_ = {static_cast<char*>(info->dlpi_tls_data), info->dlpi_phdr[k].p_memsz};
        return 1;
      },
      &search);
  if (!shared_.empty()) known.emplace(library, shared_);
}

std::string Machine::place() const { return "entry " + name_ + ", block " + std::to_string(number_) + ": "; }

/// "threads 0-15 at __syncthreads (unit.cu:12), threads 16-31 ended"
std::string Machine::waiting() const {
  std::vector<std::string> what;
  for (const Thread& t : threads_) {
    if (t.state == State::at_block)
      what.push_back(std::string("at ") + name_of(t.block) + " (" + to_string(t.site) + ")");
    else if (t.state == State::at_warp) {
      std::ostringstream mask;
      mask << std::hex << t.mask;
      what.push_back(std::string("at ") + name_of(t.warp) + " of 0x" + mask.str() + " (" + to_string(t.site) +
                     ")");
    } else {
      what.emplace_back(t.state == State::ended ? "ended" : "running");
    }
  }
  std::string out;
  int parts = 0;
  for (std::size_t at = 0; at < what.size();) {
    std::size_t end = at;
    while (end < what.size() && what[end] == what[at]) ++end;
    if (++parts > 8) return out + ", ...";
    out += (out.empty() ? "" : ", ");
    out += end - at == 1 ? "thread " + std::to_string(at)
                         : "threads " + std::to_string(at) + "-" + std::to_string(end - 1);
    out += " " + what[at];
    at = end;
  }
  return out;
}

ANABRANCH_FIBER_ENDS_HERE void Machine::body(void* machine) {
  auto& self = *static_cast<Machine*>(machine);
  self.entry_.call(self.words_);
  self.threads_[self.running_].state = State::ended;
  ++self.ended_;
  self.fibers_[self.running_].leave(true);
}

void Machine::wait() { fibers_[running_].leave(); }

std::size_t Machine::pick() {
  std::size_t at = 0;
  if (policy_ == Policy::latest) at = runnable_.size() - 1;
  if (policy_ == Policy::any) at = (random_() >> 32) * runnable_.size() >> 32;
  std::swap(runnable_[at], policy_ == Policy::in_order ? runnable_.front() : runnable_.back());
  const std::size_t t = policy_ == Policy::in_order ? runnable_.front() : runnable_.back();
  if (policy_ == Policy::in_order)
    runnable_.pop_front();
  else
    runnable_.pop_back();
  return t;
}

void Machine::run(std::uint64_t number, std::uint64_t seed) {
  number_ = number;
  here = this;
  std::ranges::fill(shared_, char(-1));
  runnable_.clear();
  fibers_.clear();
  at_block_ = ended_ = 0;
  at_warp_.assign((threads_.size() + 31) / 32, 0);
  failure_.clear();
  const uint3 block{static_cast<unsigned>(number % grid_.x),
                    static_cast<unsigned>(number / grid_.x % grid_.y),
                    static_cast<unsigned>(number / grid_.x / grid_.y)};
  auto& stacks = pool();
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].indices.block = block;
    threads_[t].state = State::runnable;
    fibers_.emplace_back(host_, stacks[t], &Machine::body, this);
    runnable_.push_back(t);
  }
  policy_ = Policy::in_order;
  if (seed) {
    random_.seed(seed * 0x9e3779b97f4a7c15u + number);
    policy_ = random_() % 3 ? Policy::any : Policy::latest;
    std::shuffle(runnable_.begin(), runnable_.end(), random_);
  }
  while (!runnable_.empty() && failure_.empty()) {
    running_ = pick();
    *now_ = &threads_[running_].indices;
    fibers_[running_].resume();
  }
  here = nullptr;
  if (failure_.empty() && ended_ < threads_.size()) fail("barrier divergence: " + waiting());
  if (!failure_.empty()) throw HostError(failure_);
}

int Machine::arrive_block(Block operation, int predicate, Site site) {
  Thread& self = threads_[running_];
  self.state = State::at_block;
  self.block = operation;
  self.predicate = predicate;
  self.site = site;
  if (++at_block_ == threads_.size()) complete_block();
  wait();
  return static_cast<int>(self.result);
}

void Machine::complete_block() {
  const Thread& first = threads_[0];
  std::uint64_t count = 0;
  for (const Thread& t : threads_) {
    if (t.block != first.block || !same(t.site, first.site)) return fail("different barriers: " + waiting());
    count += t.predicate != 0;
  }
  std::uint64_t result = 0;
  if (first.block == Block::sync_or) result = count > 0;
  if (first.block == Block::sync_and) result = count == threads_.size();
  if (first.block == Block::sync_count) result = count;
  at_block_ = 0;
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].result = result;
    wake(t);
  }
}

std::uint64_t Machine::arrive_warp(Warp operation, unsigned mask, std::uint64_t value, int lane, int width,
                                   Site site) {
  Thread& self = threads_[running_];
  const std::size_t first = running_ / 32 * 32;
  if (!(mask >> (running_ - first) & 1u)) {
    fail("thread " + std::to_string(running_) + ": " + name_of(operation) + " with a mask without itself (" +
         to_string(site) + ")");
    wait();
  }
  if (width < 1 || width > 32 || (width & (width - 1))) {
    fail(std::string(name_of(operation)) + ": width " + std::to_string(width) + " (" + to_string(site) + ")");
    wait();
  }
  self.state = State::at_warp;
  self.warp = operation;
  self.mask = mask;
  self.value = value;
  self.lane = lane;
  self.width = width;
  self.site = site;
  unsigned& arrived = at_warp_[first / 32];
  arrived |= 1u << (running_ - first);
  const std::size_t size = std::min<std::size_t>(32, threads_.size() - first);
  const unsigned present = mask & ~0u >> (32 - size);
  bool all = (arrived & present) == present;
  for (std::size_t l = 0; all && l < size; ++l) all = !(mask >> l & 1u) || threads_[first + l].mask == mask;
  if (all) complete_warp(first, mask);
  wait();
  return self.result;
}

void Machine::complete_warp(std::size_t first, unsigned mask) {
  const std::size_t size = std::min<std::size_t>(32, threads_.size() - first);
  const Thread* any = nullptr;
  std::uint64_t ballot = 0;
  unsigned present = 0;
  for (std::size_t l = 0; l < size; ++l) {
    if (!(mask >> l & 1u)) continue;
    const Thread& t = threads_[first + l];
    if (!any) any = &t;
    if (t.warp != any->warp || !same(t.site, any->site))
      return fail("different warp primitives: " + waiting());
    present |= 1u << l;
    if (t.value) ballot |= std::uint64_t{1} << l;
  }
  for (int l = 0; l < static_cast<int>(size); ++l) {
    if (!(mask >> l & 1u)) continue;
    Thread& t = threads_[first + static_cast<std::size_t>(l)];
    int from = l;
    const int begin = l / t.width * t.width, end = begin + t.width;
    switch (t.warp) {
      case Warp::sync:
        break;
      case Warp::shuffle:
        from = begin + (t.lane & (t.width - 1));
        break;
      case Warp::shuffle_up:
        from = l - t.lane < begin ? l : l - t.lane;
        break;
      case Warp::shuffle_down:
        from = l + t.lane >= end ? l : l + t.lane;
        break;
      case Warp::shuffle_xor:
        from = (l ^ t.lane) >= end ? l : l ^ t.lane;
        break;
      case Warp::ballot:
        t.result = ballot;
        continue;
      case Warp::any:
        t.result = ballot != 0;
        continue;
      case Warp::all:
        t.result = ballot == present;
        continue;
    }
    // What a lane outside the mask holds is not defined.
    t.result =
        present >> from & 1u ? threads_[first + static_cast<std::size_t>(from)].value : 0xdeadbeefdeadbeef;
  }
  at_warp_[first / 32] &= ~mask;
  for (std::size_t l = 0; l < size; ++l)
    if (mask >> l & 1u) wake(first + l);
}

std::vector<std::string> find_entries(const std::string& source) {
  static const std::regex comment(R"(//[^\n]*|/\*[^]*?\*/)");
  static const std::regex entry(
      R"(__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()");
  const std::string text = std::regex_replace(source, comment, "");
  std::vector<std::string> out;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), entry); at != std::sregex_iterator(); ++at)
    if (std::find(out.begin(), out.end(), (*at)[1].str()) == out.end()) out.push_back((*at)[1]);
  return out;
}

std::shared_ptr<const HostModule::Loaded> build(const std::string& source,
                                                const std::vector<HeaderText>& headers,
                                                const HostOptions& options) {
  const auto entries = options.entries.empty() ? find_entries(source) : options.entries;
  std::string text = source;
  for (const auto& e : entries) {
    text.append("\n#line 1 \"trailer\"\nextern \"C\" GPU_HOST_EXPORT void gpu_host_call_").append(e);
    text.append("(const void* words) { gpu_host::call(&").append(e).append(", words); }\n");
    text.append("extern \"C\" GPU_HOST_EXPORT std::size_t gpu_host_bytes_").append(e);
    text.append("() { return gpu_host::bytes(&").append(e).append("); }\n");
  }
  auto out = std::make_shared<HostModule::Loaded>();
  out->library = open_compiled({text, headers, options.sanitize});
  const auto find = [&](const std::string& symbol) {
    void* at = ::dlsym(out->library, symbol.c_str());
    if (!at) throw HostError("the compiled text lacks " + symbol);
    return at;
  };
  *static_cast<const Api**>(find("gpu_host_api")) = &Machine::api;
  out->current = reinterpret_cast<const Indices** (*)()>(find("gpu_host_current"));
  for (const auto& e : entries) {
    auto& entry = out->entries[e];
    entry.call = reinterpret_cast<void (*)(const void*)>(find("gpu_host_call_" + e));
    entry.bytes = reinterpret_cast<std::size_t (*)()>(find("gpu_host_bytes_" + e))();
  }
  return out;
}

std::shared_ptr<const HostModule::Loaded> load(const std::string& source,
                                               const std::vector<HeaderText>& headers,
                                               const HostOptions& options) {
  using Known = std::shared_future<std::shared_ptr<const HostModule::Loaded>>;
  static std::mutex mutex;
  static std::unordered_map<std::string, Known> all;
  std::string key = options.sanitize ? "sanitize\n" : "\n";
  for (const auto& e : options.entries) key += e + " ";
  key += "\n" + source;
  for (const auto& [name, text] : headers) key.append(1, '\0').append(name).append(1, '\0').append(text);
  std::promise<std::shared_ptr<const HostModule::Loaded>> promise;
  Known known;
  {
    const std::lock_guard lock(mutex);
    const auto [at, inserted] = all.try_emplace(key);
    if (inserted)
      at->second = promise.get_future().share();
    else
      known = at->second;
  }
  if (known.valid()) return known.get();
  try {
    auto made = build(source, headers, options);
    promise.set_value(made);
    return made;
  } catch (...) {
    promise.set_exception(std::current_exception());  // a text that fails once fails again
    throw;
  }
}

}  // namespace

HostModule::HostModule(const std::string& source, const std::vector<HeaderText>& headers,
                       const HostOptions& options)
    : loaded_(load(source, headers, options)) {}

bool HostModule::has(const std::string& entry) const { return loaded_->entries.contains(entry); }

std::vector<std::string> HostModule::entries() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : loaded_->entries) out.push_back(name);
  return out;
}

std::size_t HostModule::parameter_bytes(const std::string& entry) const {
  const auto at = loaded_->entries.find(entry);
  if (at == loaded_->entries.end()) throw HostError("no entry " + entry);
  return at->second.bytes;
}

void HostModule::launch(const std::string& entry, Dim grid, Dim block, std::span<const std::uint64_t> words,
                        std::uint64_t seed, int workers) const {
  const std::size_t expected = parameter_bytes(entry);
  if ((expected + 7) / 8 != words.size())
    throw HostError("entry " + entry + " takes " + std::to_string(expected) + " bytes of parameters, not " +
                    std::to_string(words.size()) + " words");
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (blocks == 0 || threads == 0 || threads > 1024 || grid.x > 0x7fffffffu || grid.y > 65535 ||
      grid.z > 65535)
    throw HostError("entry " + entry + ": " + std::to_string(blocks) + " blocks of " +
                    std::to_string(threads) + " threads");
  std::vector<std::uint64_t> order(blocks);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (seed) {
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
  }
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Machine machine(*loaded_, loaded_->entries.at(entry), entry, grid, block, words.data());
      for (std::uint64_t k; (k = next.fetch_add(1)) < blocks;) machine.run(order[k], seed);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = blocks;
    }
  };
  std::vector<std::thread> others;
  for (int w = 1; w < workers; ++w) others.emplace_back(work);
  work();
  for (auto& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace anabranch::gpu_host
