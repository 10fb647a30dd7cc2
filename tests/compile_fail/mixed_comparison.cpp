// expect: anabranch: the operands have different element types
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto integers = use(Vector<std::int32_t>{1, 2});
  auto sizes = use(Vector<std::int64_t>{1, 2});
#ifdef MUST_FAIL
  zip_with([](auto i, auto n) { return i >= n; }, integers, sizes);
#else
  zip_with([](auto i, auto n) { return cast<std::int64_t>(i) >= n; }, integers, sizes);
#endif
}
