#include <anabranch/anabranch.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

using namespace anabranch;

// Sums the rows of a ragged table: in the interpreter, which is all in the first library, and compiled, for
// which that library has to find the second one beside itself.
int main() {
  const std::vector<Vector<double>> rows{{1, 2, 3}, {}, {4, 5}};
  auto sums = consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows))));
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    RunReport report;
    const auto result = run(sums, {.backend = backend}, &report);
    std::cout << "anabranch " << library_version() << ", " << report.backend << ":";
    for (double x : result.values()) std::cout << ' ' << x;
    std::cout << '\n';
    if (!(result == Vector<double>{6, 0, 9})) return EXIT_FAILURE;
  }
  // Built as a part of another project the library has no pages unless that asks for them, and says so.
  try {
    run(sums, {.report = "report.html"});
    if (!html_reports_available() || !std::filesystem::exists("report.html")) return EXIT_FAILURE;
  } catch (const ProgramError& e) {
    std::cout << e.what() << '\n';
    if (html_reports_available()) return EXIT_FAILURE;
  }
}
