#include "agree.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "support/host_arrays.h"

namespace anabranch::testing {

namespace {
/// What traces print is nobody's here.
void ignore(std::string_view) {}

bool environment_says(const char* variable, std::string_view value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && text == value;
}

std::vector<RunOptions> make_configurations() {
  std::vector<RunOptions> out;
  const bool all = environment_says("ANABRANCH_TEST_CONFIGURATIONS", "all");
  if (environment_says("ANABRANCH_TEST_BACKEND", "cuda")) {
    const char* repeat = std::getenv("ANABRANCH_TEST_REPEAT");
    for (int times = repeat ? std::atoi(repeat) : 1; times > 0; --times) {
      if (all) out.push_back({.backend = Backend::cuda, .scheduler = "fixed:2"});
      out.push_back({.backend = Backend::cuda, .scheduler = "fixed:64"});
      out.push_back(
          {.backend = Backend::cpu_and_cuda, .threads = 2, .scheduler = all ? "fixed:7" : "fixed:2"});
    }
    return out;
  }
  const std::pair<const char*, std::vector<int>> some[] = {
      {"fixed:1", {1, 4}},       {"fixed:2", {2}}, {"fixed:7", {1, 2, 4}}, {"fixed:64", {2}},
      {"fixed:1000000", {1, 4}}, {"paper", {2}},   {"adaptive", {1, 4}}};
  for (const auto& [scheduler, threads] : some)
    for (const int count : all ? std::vector{1, 2, 4} : threads)
      out.push_back({.backend = Backend::cpu, .threads = count, .scheduler = scheduler});
  return out;
}
}  // namespace

const std::vector<RunOptions>& configurations() {
  static const std::vector<RunOptions> all = [] {
    std::vector<RunOptions> out = make_configurations();
    for (RunOptions& options : out) options.print = ignore;
    return out;
  }();
  return all;
}

std::string to_string(const RunOptions& options) {
  if (options.backend == Backend::interpreter) return "the interpreter";
  const char* who = options.backend == Backend::cuda           ? "the GPU"
                    : options.backend == Backend::cpu_and_cuda ? "CPU and GPU"
                                                               : "the CPU";
  return fmt::format("{} with {} and {} threads", who, options.scheduler, options.threads);
}

namespace {
std::string at_text(const Loc& at) { return anabranch::to_string(Place(at)); }

/// Where two arrays of one shape differ first.
std::string difference(const HostArray& got, const HostArray& expected) {
  if (got->scalars != expected->scalars) return "the element types differ";
  if (got->extents != expected->extents)
    return fmt::format("shapes ({}) and ({})", fmt::join(got->extents, ", "),
                       fmt::join(expected->extents, ", "));
  const auto element = [](const HostArray& a, std::int64_t i) {
    auto one = std::make_shared<detail::ArrayData>();
    one->scalars = a->scalars;
    for (std::size_t c = 0; c < a->scalars.size(); ++c)
      one->buffers.emplace_back(a->buffers[c], static_cast<unsigned char*>(a->buffers[c].get()) +
                                                   static_cast<std::size_t>(i) * size_of(a->scalars[c]));
    return one;
  };
  for (std::int64_t i = 0; i < got->size(); ++i)
    if (!same(element(got, i), element(expected, i)))
      return fmt::format("element {}: {} and {}", i, show(element(got, i)), show(element(expected, i)));
  return "nothing";
}
}  // namespace

void require_same(const HostArray& got, const HostArray& expected, Loc at) {
  if (!same(got, expected))
    FAIL(at_text(at) << ": differ in " << difference(got, expected) << "\ngot      " << show(got)
                     << "\nexpected " << show(expected));
  SUCCEED();
}

HostArrays agree_erased(const RunWith& run, Loc at) {
  const HostArrays expected = run({.backend = Backend::interpreter, .print = ignore});
  for (const RunOptions& options : configurations()) {
    HostArrays got;
    try {
      got = run(options);
    } catch (const std::exception& e) {
      FAIL(at_text(at) << ": " << to_string(options) << " throws: " << e.what());
    }
    REQUIRE(got.size() == expected.size());
    for (std::size_t r = 0; r < got.size(); ++r)
      if (!same(got[r], expected[r]))
        FAIL(at_text(at) << ": result " << r << " of " << to_string(options)
                         << " and of the interpreter differ in " << difference(got[r], expected[r])
                         << "\ngot      " << show(got[r]) << "\nexpected " << show(expected[r]));
  }
  SUCCEED();
  return expected;
}

namespace {
/// "a|b": one of them.
bool mentions(const std::string& text, const std::string& part) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = part.find('|', begin);
    if (text.find(part.substr(begin, end - begin)) != std::string::npos) return true;
    if (end == std::string::npos) return false;
    begin = end + 1;
  }
}
}  // namespace

template <class E>
std::string fails_erased(const RunWith& run, const std::vector<std::string>& parts, Loc at) {
  const auto message = [&](const RunOptions& options) -> std::string {
    try {
      run(options);
    } catch (const E& e) {
      return e.what();
    } catch (const std::exception& e) {
      FAIL(at_text(at) << ": " << to_string(options) << " throws another type: " << e.what());
    }
    FAIL(at_text(at) << ": " << to_string(options) << " throws nothing");
    return {};
  };
  const auto check = [&](const RunOptions& options) {
    const std::string text = message(options);
    for (const std::string& part : parts)
      if (!mentions(text, part))
        FAIL(at_text(at) << ": " << to_string(options) << " does not say '" << part << "' but: " << text);
    SUCCEED();
    return text;
  };
  const std::string first = check({.backend = Backend::interpreter, .print = ignore});
  for (const RunOptions& options : configurations()) check(options);
  return first;
}
template std::string fails_erased<RunError>(const RunWith&, const std::vector<std::string>&, Loc);
template std::string fails_erased<ProgramError>(const RunWith&, const std::vector<std::string>&, Loc);
template std::string fails_erased<ResourceError>(const RunWith&, const std::vector<std::string>&, Loc);
template std::string fails_erased<std::domain_error>(const RunWith&, const std::vector<std::string>&, Loc);

HostArray joined(const HostArrays& items, const std::vector<ScalarType>& scalars) {
  std::int64_t size = 0;
  for (const HostArray& item : items) size += item->size();
  const HostArray out = detail::allocate_array(scalars, std::vector{size});
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    auto* to = static_cast<unsigned char*>(out->buffers[c].get());
    for (const HostArray& item : items) {
      const auto bytes = static_cast<std::size_t>(item->size()) * size_of(scalars[c]);
      std::memcpy(to, item->buffers[c].get(), bytes);
      to += bytes;
    }
  }
  return out;
}

HostArray stacked(const HostArrays& items, int rank, const std::vector<ScalarType>& scalars) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::size_t d = 0; d < extents.size(); ++d)
      extents[d] = i == 0 ? items[i]->extents[d] : std::min(extents[d], items[i]->extents[d]);
  std::vector<std::int64_t> whole = extents;
  whole.insert(whole.begin(), static_cast<std::int64_t>(items.size()));
  const HostArray out = detail::allocate_array(scalars, whole);
  const std::int64_t size = items.empty() ? 0 : out->size() / static_cast<std::int64_t>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::int64_t k = 0; k < size; ++k) {
      std::int64_t rest = k, from = 0, stride = 1;
      for (std::size_t d = extents.size(); d-- > 0;) {
        from += rest % extents[d] * stride;
        rest /= extents[d];
        stride *= items[i]->extents[d];
      }
      for (std::size_t c = 0; c < scalars.size(); ++c) {
        const std::size_t width = size_of(scalars[c]);
        std::memcpy(static_cast<unsigned char*>(out->buffers[c].get()) +
                        static_cast<std::size_t>(static_cast<std::int64_t>(i) * size + k) * width,
                    static_cast<const unsigned char*>(items[i]->buffers[c].get()) +
                        static_cast<std::size_t>(from) * width,
                    width);
      }
    }
  return out;
}

}  // namespace anabranch::testing
