// expect: this sentence stands in the first error
// Shows the form of these files, and that the harness reads the first error.

template <class T>
struct Wrong {
  static_assert(sizeof(T) == 0, "this sentence stands in the first error");
};

#ifdef MUST_FAIL
Wrong<int> wrong;
#endif

int main() {}
