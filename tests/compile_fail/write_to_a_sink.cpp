// expect: anabranch: this sink does not take the items of this sequence
// expect: anabranch: this sink does not take the items of this sequence
#include <anabranch/anabranch.h>
#include <anabranch/io.h>

using namespace anabranch;

int main() {
  const auto items = produce(3, [](auto i) { return fill(i, 1.0); });
#if MUST_FAIL == 1
  write(items, io::write_csr("m.npz", 3));
#elif MUST_FAIL == 2
  write(map_seq([](auto row) { return std::tuple(row, row); }, items), io::write_ragged("x"));
#else
  write(items, io::write_ragged("x"));
  write(items, io::write_npy_rows("y.npy"));
#endif
}
