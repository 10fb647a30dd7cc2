// expect: anabranch: the operands have different element types
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto integers = use(Vector<std::int32_t>{1, 2});
  auto numbers = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  zip_with([](auto i, auto x) { return i * x; }, integers, numbers);
#else
  zip_with([](auto i, auto x) { return cast<double>(i) * x; }, integers, numbers);
#endif
}
