// expect: anabranch: the items of a streamed range are Arrays
// expect: anabranch: stream_in keeps the range that it is given, and this one cannot be copied
#include <utility>

#include <anabranch/anabranch.h>

using namespace anabranch;

struct Owner : std::vector<Vector<double>> {
  Owner() = default;
  Owner(Owner&&) = default;
  Owner& operator=(Owner&&) = default;
};

int main() {
  Owner items;
#ifndef MUST_FAIL
#define MUST_FAIL 0
#endif
#if MUST_FAIL == 1
  stream_in(std::vector<std::vector<double>>{{1.0}});
#elif MUST_FAIL == 2
  stream_in(items);
#else
  stream_in(std::vector<Vector<double>>{{1.0}});
  stream_in(std::views::all(items));
  stream_in(std::move(items));
#endif
}
