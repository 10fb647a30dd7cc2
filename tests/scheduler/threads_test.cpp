#include "scheduler/threads.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "support/catch.h"
#include "support/sanitized.h"

using namespace anabranch;

namespace {

/// While it lives, this process gets no more address space than it has and so many bytes.
class AddressSpace {
 public:
  explicit AddressSpace(rlim_t more) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit bound{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_AS, &bound) == 0);
  }
  ~AddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("threads are tried before anything depends on them") {
  scheduler::try_threads(0);
  scheduler::try_threads(8);
  if (testing::sanitized) return;  // it has the address space
  {
    const AddressSpace little(std::size_t{64} << 20);
    REQUIRE_THROWS_WITH(scheduler::try_threads(100),
                        Catch::Contains(" of the 100 threads wanted beside this one: "));
    scheduler::try_threads(2);
  }
  scheduler::try_threads(100);
}
