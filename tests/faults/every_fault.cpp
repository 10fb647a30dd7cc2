#include "every_fault.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <thread>
#include <utility>

#include <anabranch/error.h>

#include "support/catch.h"

namespace fault_test {

namespace {

/// What the descriptors of this process stand for.
std::string descriptors() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the one that lists them
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone) names.push_back(entry.path().filename().string() + " = " + target.string());
  }
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + "\n";
  return all;
}

/// The answer of a run: its result, or what it threw.
struct Answer {
  std::string result;
  std::string error;  ///< empty: none
  bool right_type = true;
};

Answer answer_of(Kind kind, const Program& program) {
  const bool resources = kind == Kind::allocation || kind == Kind::thread || kind == Kind::map;
  try {
    return {program(), {}, true};
  } catch (const std::bad_alloc&) {
    return {{}, "std::bad_alloc", kind == Kind::allocation};
  } catch (const anabranch::ResourceError& e) {
    return {{}, std::string("ResourceError: ") + e.what(), resources};
  } catch (const anabranch::IoError& e) {
    return {{}, std::string("IoError: ") + e.what(), !resources};
  } catch (const anabranch::Error& e) {
    return {{}, std::string("another Error: ") + e.what(), false};
  } catch (const std::exception& e) {
    return {{}, std::string("another exception: ") + e.what(), false};
  }
}

/// More than `blocks`, also when threads that end have given back theirs. A busy machine lets them wait.
bool stays_kept_since(long blocks, int patience = 20) {
  for (int wait = 0; wait < patience; ++wait) {
    if (faults::anabranch_faults_live_blocks() <= blocks) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

class Faults {
 public:
  Faults(Kind kind, const Scope& scope) : scope_(scope), fault_{kind, -1, scope.lasting, scope.depth} {
    if (scope.step > 0) fault_.call = 0;
    known_.reserve(1 << 16);
    if (scope.shown) known_ = *scope.shown;
  }
  void arm() { faults::anabranch_faults_arm(fault_, known_.data(), static_cast<int>(known_.size())); }
  /// Was there a fault?
  bool disarm() {
    const Site site = faults::anabranch_faults_disarm();
    if (site != 0) {
      ++count_;
      known_.push_back(site);
      fault_.call += scope_.step;
    }
    return site != 0;
  }
  /// The next run meets the last fault again.
  void again() {
    --count_;
    known_.pop_back();
    fault_.call -= scope_.step;
  }
  int count() const { return count_; }
  const std::vector<Site>& known() const { return known_; }

 private:
  const Scope scope_;
  Fault fault_;
  std::vector<Site> known_;
  int count_ = 0;
};

}  // namespace

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds{Kind::allocation, Kind::thread, Kind::open,   Kind::read,
                                       Kind::write,      Kind::sync,   Kind::rename, Kind::map};
  return kinds;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::none:
      return "nothing";
    case Kind::allocation:
      return "allocation";
    case Kind::thread:
      return "thread start";
    case Kind::open:
      return "open";
    case Kind::read:
      return "read";
    case Kind::write:
      return "write";
    case Kind::sync:
      return "fsync";
    case Kind::rename:
      return "rename";
    case Kind::map:
      return "mmap";
  }
  return "";
}

int check_every_fault(Kind kind, const Program& program, const Scope& scope) {
  const std::string expected = program();
  program();  // caches are warm
  Faults faults(kind, scope);
  const auto run = [&](Answer& answer) {
    faults.arm();
    answer = answer_of(kind, program);
    return faults.disarm();
  };
  for (;;) {
    Answer answer;
    const std::string open_before = descriptors();
    const long before = faults::anabranch_faults_live_blocks();
    const bool failed = run(answer);
    INFO(name_of(kind) << " " << faults.count() << ": " << answer.error);
    if (!failed) {
      REQUIRE(answer.error.empty());
      REQUIRE(answer.result == expected);
      if (scope.shown) *scope.shown = faults.known();
      return faults.count();
    }
    CHECK(answer.right_type);
    if (answer.error.empty()) CHECK(answer.result == expected);
    const std::string error = std::exchange(answer, {}).error;
    CHECK(program() == expected);
    CHECK(descriptors() == open_before);
    // A leak comes again each time; not so what a cache keeps, or a thread that is about to give it back.
    bool leaks = stays_kept_since(before);
    constexpr int repeats = 16;
    for (int repeat = 0; leaks && repeat < repeats; ++repeat) {
      const long now = faults::anabranch_faults_live_blocks();
      faults.again();
      if (!run(answer)) leaks = false;  // it is met no more
      answer = {};
      leaks = leaks && stays_kept_since(now, repeat + 1 == repeats ? 5000 : 20);
    }
    CHECK(!leaks);
  }
}

}  // namespace fault_test
