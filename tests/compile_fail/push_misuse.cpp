// expect: anabranch: push_stream<A> takes items of type A: an Array, or a std::tuple of Arrays
// expect: anabranch: the function given to push_stream takes the sequence of what is pushed
// expect: anabranch: the function given to push_stream returns a Seq
// expect: anabranch: push takes an item of the type that push_stream was given
// expect: anabranch: this program gives no items to take: finish\(\) gives its values
// expect: anabranch: this program gives no items that a function could be given
// expect: anabranch: the second function of push_stream takes an item of the results
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const auto same = [](const Seq<Vector<double>>& s) { return s; };
  const auto all = [](const Seq<Vector<double>>& s) { return consume(elements(s)); };
#ifndef MUST_FAIL
#define MUST_FAIL 0
#endif
#if MUST_FAIL == 1
  push_stream<double>(same);
#elif MUST_FAIL == 2
  push_stream<Vector<float>>(same);
#elif MUST_FAIL == 3
  push_stream<Vector<double>>([](const Seq<Vector<double>>& s) { return elements(s); });
#elif MUST_FAIL == 4
  push_stream<Vector<double>>(same).push(Vector<float>{1.0F});
#elif MUST_FAIL == 5
  push_stream<Vector<double>>(all).pop();
#elif MUST_FAIL == 6
  push_stream<Vector<double>>(all, [](const Vector<double>&) {});
#elif MUST_FAIL == 7
  push_stream<Vector<double>>(same, [](const Matrix<double>&) {});
#else
  auto stream = push_stream<Vector<double>>(same);
  stream.push(Vector<double>{1.0});
  stream.finish();
  stream.pop();
  Vector<double> values = push_stream<Vector<double>>(all).finish();
  push_stream<Vector<double>>(same, [](const Vector<double>&) {}, {.threads = 2}, {.seconds = 0});
#endif
}
