#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "shapes.h"

// What `explain` says of programs, as text, as JSON and as a graph.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Floats = Vector<float>;
using Matrix = Array<2, double>;

std::vector<Floats> rows() { return {Floats{1, 2, 3}, Floats{}, Floats{4}}; }
Matrix matrix() { return Matrix(Index{3, 4}); }

template <class P>
Json explained(const P& program) {
  return Json::parse(program.explain(Explain::json));
}
template <class R>
Json of(const R& computation) {
  return explained(compile(computation));
}
template <class F>
Json of_rows(F f) {
  return of(consume(elements(map_seq(f, stream_in(rows())))));
}

/// The only operation that a person calls so.
Json operation(const Json& report, const std::string& label) {
  Json found;
  for (const Json& part : report.at("parts"))
    for (const Json& o : part.at("operations"))
      if (o.at("operation") == label) {
        INFO(label << " twice");
        REQUIRE(found.is_null());
        found = o;
      }
  INFO(label << " in " << report.dump(2));
  REQUIRE(!found.is_null());
  return found;
}
Json stored(const Json& report, const std::string& name) {
  for (const Json& array : report.at("arrays"))
    if (array.at("name") == name) return array;
  FAIL("no array " + name + " in memory");
  return {};
}
/// The only read of a program of one kernel.
Json only_read(const Json& report) {
  INFO(report.dump(2));
  REQUIRE(report.at("kernels").size() == 1);
  REQUIRE(report.at("kernels")[0].at("reads").size() == 1);
  return report.at("kernels")[0].at("reads")[0];
}

TEST_CASE("explain: what is written over what", "[once]") {
  const auto first = scanl1(plus, use(Vector<double>{1, 2, 3}));
  const auto total = the(sum(first));
  const auto program = compile(map([=](auto x) { return x / total; }, first));
  const Json report = explained(program);
  const std::string scan = operation(report, "scanl1").at("name");
  CHECK(stored(report, operation(report, "map").at("name")).at("in_place_of") == Json{scan});
  CHECK(stored(report, scan).at("in_place_of") == Json::array());
  CHECK(program.explain().find("8 B x shape(a0), in place of " + scan) != std::string::npos);
}

TEST_CASE("explain: a sum of rows", "[once]") {
  const Json report = of_rows([](auto row) { return sum(row); });
  const Json read = only_read(report);
  const Json items = operation(report, "stream_in"), sums = operation(report, "sum");
  CHECK(read.at("array") == items.at("name"));
  CHECK(read.at("access") == "contiguous");
  CHECK(read.at("check") == "none");
  CHECK(read.at("why") == "the reader's own position");
  const Json kernel = report.at("kernels")[0];
  CHECK(kernel.at("form") == "fold");
  CHECK(kernel.at("computes") == Json{sums.at("name")});
  CHECK(kernel.at("fused").empty());
  CHECK(kernel.at("equal_items") == true);
  const std::string elements = "elements of " + items.at("name").get<std::string>();
  const auto bytes = [](const Json& array, int each, const std::string& times) {
    return Json{{"array", array}, {"each", each}, {"times", times}, {"at_most", false}};
  };
  CHECK(kernel.at("read_bytes")[0] == bytes(items.at("name"), 4, elements));
  CHECK(kernel.at("read_bytes")[1] == bytes("offsets", 8, "(items + 1)"));
  CHECK(kernel.at("written_bytes")[0] == bytes(sums.at("name"), 4, "items"));
  CHECK(kernel.at("lanes") == "neighbouring elements of a row; of short rows, several at a time");
  const Json least = of_rows([](auto row) { return minimum(row); });
  CHECK(least.at("kernels")[0].at("lanes") == kernel.at("lanes"));
  CHECK(items.at("form") == "segmented");
  CHECK(items.at("reason") == "an item of the source, whose shape differs");
  CHECK(sums.at("form") == "regular");
  CHECK(sums.at("stored") == "a reduction");
  CHECK(sums.at("kernels") == Json{1});
  CHECK(stored(report, sums.at("name")).at("made_by") == "kernel 1");
  CHECK(report.at("sources").size() == 1);
  REQUIRE(report.at("sources")[0].at("read_by").size() == 1);
  CHECK(report.at("sources")[0].at("read_by")[0].at("reader") == "stream 0");
  CHECK(report.at("passes").size() == 6);
  CHECK(report.at("program").size() >= 5);
}

TEST_CASE("explain: what is fused, into which kernels", "[once]") {
  const Json report = of_rows([](auto row) {
    auto squares = map([](auto x) { return x * x; }, row);
    auto roots = compute(imap([](auto, auto x) { return sqrt(x); }, row));
    return zip_with([](auto x, auto y) { return x + y; }, squares, roots);
  });
  REQUIRE(report.at("kernels").size() == 2);
  const Json squares = operation(report, "map"), roots = operation(report, "compute"),
             sums = operation(report, "zip_with");
  CHECK(squares.at("stored").is_null());
  CHECK(squares.at("kernels") == Json{2});
  CHECK(roots.at("kernels") == Json{1});
  CHECK_THAT(roots.at("stored").get<std::string>(), Contains("asked for by compute"));
  CHECK(report.at("kernels")[1].at("fused") == Json{squares.at("name")});
  CHECK(report.at("kernels")[1].at("computes") == Json{sums.at("name")});
  // What is stored, by whom it is read.
  const Json array = stored(report, roots.at("name"));
  CHECK(array.at("maker") == "kernel");
  REQUIRE(array.at("read_by").size() == 1);
  CHECK_THAT(array.at("read_by")[0].at("reader").get<std::string>(),
             Contains("kernel 2, zip_with@explain_test.cpp:"));
  CHECK(stored(report, operation(report, "stream_in").at("name")).at("read_by").size() == 2);
  CHECK(report.at("kernels")[1].at("lanes") == "neighbouring positions, whatever the shapes");
}

TEST_CASE("explain: what is made of a result where it would be stored", "[once]") {
  const Json report = of_rows([](auto row) {
    auto sums = scanl1(plus, row);
    return zip_with([](auto x, auto y) { return x - y; }, sums, row);
  });
  REQUIRE(report.at("kernels").size() == 1);
  const Json sums = operation(report, "scanl1"), less = operation(report, "zip_with");
  CHECK(sums.at("stored").is_null());
  CHECK(sums.at("kernels") == Json{1});
  CHECK_THAT(less.at("stored").get<std::string>(), Contains("a result, in one kernel with "));
  CHECK(report.at("kernels")[0].at("fused") == Json{sums.at("name")});
  CHECK(report.at("kernels")[0].at("computes") == Json{less.at("name")});
}

TEST_CASE("explain: reductions of one traversal", "[once]") {
  const auto all = [](auto row) {
    auto ones = map([](auto) { return std::int64_t{1}; }, row);
    return std::tuple{sum(row), sum(ones), minimum(row), maximum(row)};
  };
  const auto [sums, counts, least, most] =
      unzip_seq(map_seq(all, stream_in(std::vector<Floats>{Floats{1}, Floats{2, 3}})));
  const auto program = compile(std::tuple{consume(elements(sums)), consume(elements(counts)),
                                          consume(elements(least)), consume(elements(most))});
  const Json report = explained(program);
  REQUIRE(report.at("kernels").size() == 1);
  const Json kernel = report.at("kernels")[0];
  CHECK(kernel.at("computes").size() == 4);
  CHECK(kernel.at("written_bytes").size() == 4);
  CHECK_THAT(operation(report, "maximum").at("stored").get<std::string>(), Contains("in one kernel with a"));
  for (const Json& check : kernel.at("checks")) CHECK(check.at("for") == "a row without elements");
  CHECK(!kernel.at("checks").empty());
  // Each element comes from memory once, however many reductions take it.
  int items = 0;
  for (const Json& bytes : kernel.at("read_bytes"))
    if (bytes.at("array") == operation(report, "stream_in").at("name")) ++items;
  CHECK(items == 1);
  program.require(Expect::no_intermediates | Expect::one_pass);
}

TEST_CASE("explain: how reads reach memory, and what is checked", "[once]") {
  SECTION("gathered") {
    const Vector<std::int32_t> positions{2, 0, 1};
    const Json report = of(gather(use(positions), use(Floats{1, 2, 3})));
    REQUIRE(report.at("kernels")[0].at("reads").size() == 2);
    for (const Json& read : report.at("kernels")[0].at("reads")) {
      const bool of_positions = read.at("operation").is_null();
      CHECK(read.at("access") == (of_positions ? "contiguous" : "gathered"));
      CHECK(read.at("check") == (of_positions ? "none" : "always"));
      if (of_positions) continue;
      CHECK(read.at("operation") == "gather");
      CHECK(read.at("why") == "elements of another array decide the position");
      CHECK_THAT(read.at("place").get<std::string>(), Contains("explain_test.cpp:"));
    }
  }
  SECTION("strided") {
    const Json read = only_read(of(transpose(use(matrix()))));
    CHECK(read.at("access") == "strided");
    CHECK_THAT(read.at("stride").get<std::string>(), Contains("shape("));
    CHECK(read.at("check") == "none");
    CHECK(read.at("why") == "known to be in range");
    const Json even =
        only_read(of(generate(10, [](auto ix) { return use(Floats(Index{40}))[index_of(ix * 3)]; })));
    CHECK(even.at("access") == "strided");
    CHECK(even.at("stride") == "3");
    CHECK(even.at("check") == "always");
    CHECK(even.at("why") == "the position is computed, and nothing shows that it is in range");
  }
  SECTION("backwards") {
    const Json read = only_read(of(reverse(use(Floats{1, 2, 3}))));
    CHECK(read.at("access") == "backwards");
    CHECK(read.at("stride").is_null());
    CHECK(only_read(of(scanr1(plus, use(Floats{1, 2, 3})))).at("access") == "backwards");
  }
  SECTION("broadcast") {
    const Json report = of_rows([](auto row) {
      auto total = sum(row);
      return map([=](auto x) { return x / the(total); }, row);
    });
    REQUIRE(report.at("kernels").size() == 2);
    bool found = false;
    for (const Json& read : report.at("kernels")[1].at("reads")) {
      if (read.at("array") != operation(report, "sum").at("name")) continue;
      CHECK(read.at("access") == "broadcast");
      CHECK(read.at("bytes").at("times") == "items");
      found = true;
    }
    CHECK(found);
  }
  SECTION("neighbours but near the borders") {
    const auto blur = [](auto n) { return n(-1) + n(0) + n(1); };
    const Json report = of(stencil(blur, clamp, use(Floats(Index{1000}))));
    int near = 0;
    for (const Json& read : report.at("kernels")[0].at("reads")) {
      CHECK(read.at("access") == "contiguous");
      if (read.at("inside_borders") == true) ++near;
    }
    CHECK(near == 2);
    CHECK(report.at("kernels")[0].at("read_bytes").size() == 1);
  }
  SECTION("checked near the borders only") {
    const Json read =
        only_read(of(generate(10, [](auto ix) { return use(Floats(Index{11}))[index_of(ix + 1)]; })));
    CHECK(read.at("access") == "contiguous");
    CHECK(read.at("check") == "at borders");
    CHECK(read.at("inside_borders") == false);
  }
  SECTION("only the components that are used") {
    using Pairs = Vector<std::tuple<std::int32_t, double>>;
    const auto second = [](auto row) { return sum(map([](auto p) { return get<1>(p); }, row)); };
    const Json report =
        of(consume(elements(map_seq(second, stream_in(std::vector<Pairs>{Pairs{{1, 2.0}}})))));
    CHECK(only_read(report).at("bytes").at("each") == 8);
  }
  SECTION("divisions") {
    const Json report = of(map([](auto x) { return 7 / x; }, use(Vector<std::int32_t>{1, 2})));
    REQUIRE(report.at("kernels")[0].at("checks").size() == 1);
    CHECK(report.at("kernels")[0].at("checks")[0].at("for") == "a quotient that does not exist");
  }
  SECTION("what only one side of a conditional reads") {
    const Json report =
        of(generate(10, [](auto ix) { return cond(ix < 5, use(Floats(Index{5}))[index_of(ix)], 0.0f); }));
    CHECK(only_read(report).at("where_needed") == true);
  }
}

/// What the first kernel of a program of vectors reads of the one array that it reads.
std::pair<std::string, bool> bytes_read(const Json& report) {
  INFO(report.dump(2));
  REQUIRE(report.at("kernels").size() == 1);
  REQUIRE(report.at("kernels")[0].at("read_bytes").size() == 1);
  const Json& bytes = report.at("kernels")[0].at("read_bytes")[0];
  return {bytes.at("times"), bytes.at("at_most")};
}

TEST_CASE("explain: bytes of what is read in part", "[once]") {
  using Bytes = std::pair<std::string, bool>;
  const Floats v(Index{100});
  CHECK(bytes_read(of(sum(use(v)))) == Bytes("shape(a0)", false));
  CHECK(bytes_read(of(sum(take(10, use(v))))) == Bytes("minimum(10, shape(a0))", false));
  CHECK(bytes_read(of(section(use(v), Index{0}, Index{2}, Index{7}))) == Bytes("7", false));
  CHECK(bytes_read(of(sum(slice(use(matrix()), 1, all)))) == Bytes("shape(a0).1", false));
  // Each element is read often, but comes from memory once.
  const auto products = [](auto a) {
    return generate(make<Index<2>>(size(a), size(a)), [=](auto at) { return a[at[1]] * 2; });
  };
  CHECK(bytes_read(of(products(use(v)))) == Bytes("shape(a0)", false));
  // In several places, that may be the same ones or not.
  const auto ends = [&](auto a) { return zip_with(plus, take(10, a), drop(5, a)); };
  CHECK(bytes_read(of(ends(use(v)))) == Bytes("shape(a0)", true));
  // Where it is needed.
  CHECK(bytes_read(of(shift(use(v), 2, constant(0.0f)))) == Bytes("shape(a0)", true));
  // As often as a loop has rounds.
  const auto last = [&](auto i) {
    auto a = use(v);
    return while_loop([](auto k) { return k > 0; }, [=](auto k) { return k - cast<std::int64_t>(a[k]); }, i);
  };
  CHECK(bytes_read(of(generate(10, last))) == Bytes("a number known at run time", true));
}

TEST_CASE("explain: counts mention arrays, not temporaries", "[once]") {
  const auto a = use(Floats{1, 2}), b = use(Floats{3});
  const auto more = concat(concat(a, b), a);
  const std::string text = compile(std::tuple{more, sum(map([](auto x) { return x * 2; }, more))}).explain();
  for (std::size_t at = text.find(" B x "); at != std::string::npos; at = text.find(" B x ", at + 1)) {
    const std::string count = text.substr(at, text.find_first_of(";\n", at) - at);
    INFO(count);
    CHECK(count.find(" t") == std::string::npos);
    CHECK(count.find("(t") == std::string::npos);
  }
}

TEST_CASE("explain: what the host reads, and what for", "[once]") {
  const auto a = use(Floats{1, 2, 3});
  const auto total = sum(a);
  // Neither the scan, whose elements decide no shape, nor what is read inside of it.
  const auto scanned = scanl1(plus, map([=](auto x) { return x / the(total); }, a));
  const Json sizes = of(generate(size(scanned), [=](auto i) { return scanned[i]; }));
  for (const Json& array : sizes.at("arrays")) {
    CHECK(array.at("decides_shapes") == false);
    CHECK(array.at("decides_branches") == false);
  }
  const Json many = of(generate(cast<std::int64_t>(the(total)), [](auto i) { return i; }));
  CHECK(stored(many, operation(many, "sum").at("name")).at("decides_shapes") == true);
  const auto sides = acond(the(total) > 1, a, map([](auto x) { return x + 1; }, a));
  const Json branch = of(sides);
  const Json decides = stored(branch, operation(branch, "sum").at("name"));
  CHECK(decides.at("decides_shapes") == false);
  CHECK(decides.at("decides_branches") == true);
  const std::string text = compile(sides).explain();
  CHECK_THAT(text, Contains("for a branch, on the host") && Contains("then of acond: where it is taken"));
}

TEST_CASE("explain: operations that only a stream's source or bound needs", "[once]") {
  const auto sum_of = [](auto row) { return sum(row); };
  const auto doubled = map([](auto x) { return x * 2; }, use(matrix()));
  const Json report = of(consume(elements(map_seq(sum_of, anabranch::rows(doubled)))));
  CHECK(operation(report, "map").at("stored") == "read by a stream, row by row");
  CHECK(operation(report, "rows").at("reads") == Json{operation(report, "map").at("name")});
  const auto some = maximum(use(Vector<std::int64_t>{1, 1}));
  const auto taken = take_seq(the(some), stream_in(rows()));
  const Json bounded = of(consume(elements(map_seq(sum_of, taken))));
  CHECK(operation(bounded, "maximum").at("kernels") == Json{1});
}

TEST_CASE("explain: what depends on no item belongs to the run", "[once]") {
  const auto a = use(Floats{1, 2, 3});
  const auto roots = map([](auto x) { return sqrt(x); }, a);
  const Json report = of_rows([=](auto row) { return sum(zip_with(times, row, roots)); });
  const Json& parts = report.at("parts");
  REQUIRE(parts.size() == 2);
  for (const Json& o : parts[1].at("operations")) CHECK(o.at("form") != "avoided");
  for (const Json& o : parts[0].at("operations")) CHECK(o.at("form") == "avoided");
}

TEST_CASE("explain: an array in pieces, from several kernels", "[once]") {
  const auto lags = [](auto row) {
    return sum(generate(make<Index<2>>(Exp<std::int64_t>(17), size(row)),
                        [=](auto at) { return row[at[1]] * row[min(at[0] + at[1], size(row) - 1)]; }));
  };
  const Json report = of_rows(lags);
  CHECK(stored(report, operation(report, "sum").at("name")).at("made_by") == "kernels 1, 2, 3");
}

TEST_CASE("explain: views are read by those who read what they show", "[once]") {
  const auto distances = [](Acc<Floats> row) {
    const auto one = [=](auto q) { return map([=](auto z) { return abs(z - the(q)); }, row); };
    return consume(tabulate(map_seq(one, anabranch::rows(row))));
  };
  const auto program = compile(
      consume(elements(map_seq(distances, stream_in(std::vector<Floats>{Floats{1, 2}, Floats{3, 4}})))));
  const Json report = explained(program);
  bool found = false;
  for (const Json& array : report.at("arrays")) {
    if (array.at("maker") != "view") continue;
    found = true;
    CHECK(!array.at("read_by").empty());
  }
  CHECK(found);
  CHECK_THAT(program.explain(), Contains("inner sequence in stream 0: for every chunk\n"));
}

/// Programs of every kind of part.
std::map<std::string, std::string (*)(Explain)> corpus() {
  return {
      {"rows",
       [](Explain form) {
         return compile(consume(elements(map_seq([](auto r) { return sum(r); }, stream_in(rows())))))
             .explain(form);
       }},
      {"transposed", [](Explain form) { return compile(sum(transpose(use(matrix())))).explain(form); }},
      {"two results",
       [](Explain form) {
         auto a = map([](auto x) { return x + 1; }, use(Floats{1, 2}));
         return compile(std::tuple{scanl1(plus, a), sum(a)}).explain(form);
       }},
      {"filtered",
       [](Explain form) {
         const auto positive = [](auto r) { return std::get<0>(filter([](auto x) { return x > 0; }, r)); };
         return compile(consume(elements(map_seq(positive, stream_in(rows()))))).explain(form);
       }},
      {"loop",
       [](Explain form) {
         const auto low = [](auto v) { return the(sum(v)) < 100; };
         const auto more = [](auto v) { return map([](auto x) { return x * 2; }, v); };
         return compile(awhile([=](auto v) { return low(v); }, more, use(Floats{1, 2}))).explain(form);
       }},
      {"inner sequence",
       [](Explain form) {
         const auto total = [](auto m) {
           return consume(elements(map_seq([](auto r) { return sum(r); }, rows(m))));
         };
         return compile(consume(tabulate(map_seq(total, stream_in(std::vector<Matrix>{matrix(), matrix()})))))
             .explain(form);
       }},
      {"function",
       [](Explain form) {
         return compile<Floats, Floats>([](auto x, auto y) { return sum(zip_with(times, x, y)); })
             .explain(form);
       }},
  };
}

TEST_CASE("explain: JSON of any program names what it mentions", "[once]") {
  for (const auto& [name, explain] : corpus()) {
    INFO(name);
    const Json report = Json::parse(explain(Explain::json));
    std::set<std::string> operations, arrays;
    for (const Json& part : report.at("parts"))
      for (const Json& o : part.at("operations")) operations.insert(o.at("name"));
    for (const Json& array : report.at("arrays")) arrays.insert(array.at("name"));
    const std::size_t kernels = report.at("kernels").size();
    CHECK(kernels > 0);
    std::size_t steps = 0;
    for (const Json& part : report.at("parts")) {
      for (const Json& o : part.at("operations")) {
        INFO(o.dump());
        for (const Json& number : o.at("kernels")) CHECK((number >= 1 && number <= kernels));
        CHECK((!o.at("stored").is_null() || !o.at("kernels").empty()));
        for (const Json& read : o.at("reads")) CHECK(operations.contains(read));
      }
      for (const Json& step : part.at("steps")) steps += step.at("kind") == "kernel";
    }
    CHECK(steps == kernels);
    for (const Json& kernel : report.at("kernels")) {
      for (const Json& fused : kernel.at("fused")) CHECK(operations.contains(fused));
      for (const Json& computed : kernel.at("computes")) CHECK(arrays.contains(computed));
      for (const Json& read : kernel.at("reads")) CHECK(arrays.contains(read.at("array")));
    }
  }
}

/// Reads a graph as `dot` would: statements in balanced braces, quoted names, attributes. The nodes, and the ends of edges.
struct Graph {
  std::set<std::string> nodes;
  std::vector<std::pair<std::string, std::string>> edges;
};
Graph parsed(const std::string& text) {
  Graph graph;
  int depth = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    // Without what is in quotes.
    std::vector<std::string> quoted;
    std::string bare;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] != '"') {
        bare += line[i];
        continue;
      }
      std::string inside;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\') inside += line[i++];
        REQUIRE(i < line.size());
        inside += line[i];
      }
      REQUIRE(i < line.size());
      quoted.push_back(inside);
      bare += "\"\"";
    }
    for (const char c : bare) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      REQUIRE(depth >= 0);
    }
    CHECK(std::count(bare.begin(), bare.end(), '[') == std::count(bare.begin(), bare.end(), ']'));
    CHECK((bare.back() == ';' || bare.back() == '{' || bare.back() == '}'));
    if (bare.find("->") != std::string::npos) {
      REQUIRE(quoted.size() >= 2);
      graph.edges.emplace_back(quoted[0], quoted[1]);
    } else if (bare.find("\"\" [") != std::string::npos) {
      CHECK(graph.nodes.insert(quoted.at(0)).second);
    }
  }
  CHECK(depth == 0);
  return graph;
}

TEST_CASE("explain: a graph is well formed, and has the operations", "[once]") {
  for (const auto& [name, explain] : corpus()) {
    const std::string text = explain(Explain::dot);
    INFO(name << "\n" << text);
    REQUIRE(text.starts_with("digraph program {"));
    const Graph graph = parsed(text);
    CHECK(!graph.edges.empty());
    for (const auto& [from, to] : graph.edges) {
      CHECK(graph.nodes.contains(from));
      CHECK(graph.nodes.contains(to));
    }
    const Json report = Json::parse(explain(Explain::json));
    for (const Json& part : report.at("parts"))
      for (const Json& o : part.at("operations")) CHECK(graph.nodes.contains(o.at("name")));
  }
}

TEST_CASE("explain: an edge says how its own operation reads", "[once]") {
  const auto a = use(Floats{1, 2, 3});
  const auto positions = use(Vector<std::int32_t>{2, 0, 1});
  const std::string text =
      compile(zip_with([](auto x, auto y) { return x + y; }, a, gather(positions, a))).explain(Explain::dot);
  INFO(text);
  CHECK_THAT(text, Contains("[label=\"gathered, checked\"]"));
  CHECK_THAT(text, !Contains("contiguous\\ngathered") && !Contains("gathered, checked\\ncontiguous"));
  // Two that are called the same, in one line: it is not known which reads how.
  const auto n = size(a);
  const auto across =
      zip_with([](auto x, auto y) { return x * y; }, replicate(a, all, n), replicate(a, n, all));
  CHECK_THAT(compile(sum(across)).explain(Explain::dot), !Contains("broadcast"));
}

TEST_CASE("explain: the text has the same facts", "[once]") {
  const std::string text = corpus().at("two results")(Explain::text);
  for (const char* part :
       {"program, after sharing\n", "fused into kernels 1, 2", "kernel 1, scanl1@explain_test.cpp:",
        "side by side in a vector: ", "contiguous; not checked: ", "arrays in memory, and why\n", "passes\n"})
    CHECK_THAT(text, Contains(part));
  CHECK_THAT(corpus().at("loop")(Explain::text),
             Contains("keeps") || Contains("body of awhile: in every round"));
}

}  // namespace
}  // namespace anabranch::testing
