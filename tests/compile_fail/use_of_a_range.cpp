// expect: anabranch: use takes an Array, a std::vector or a std::span
// expect: anabranch: a std::vector<bool> keeps bits
// expect: anabranch: use takes an Array, a std::vector or a std::span
#include <anabranch/anabranch.h>

#include <list>
#include <span>
#include <vector>

using namespace anabranch;

int main() {
  const std::vector<double> numbers{1.0};
#if MUST_FAIL == 1
  use(std::list<double>{1.0});
#elif MUST_FAIL == 2
  use(std::vector<bool>{true});
#elif MUST_FAIL == 3
  use(use(numbers));
#else
  use(std::vector<double>{1.0});
  use(std::span(numbers));
  use(Vector<bool>{true});
#endif
}
