// expect: anabranch: while_loop's function returns what it takes
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<std::int32_t>{1, 2});
#ifdef MUST_FAIL
  map(
      [](auto x) {
        return while_loop([](auto y) { return y < 5; }, [](auto y) { return cast<double>(y); }, x);
      },
      v);
#else
  map([](auto x) { return while_loop([](auto y) { return y < 5; }, [](auto y) { return y + 1; }, x); }, v);
#endif
}
