#include "report/expect.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace anabranch::report {

namespace {

using Maker = StoredArray::Maker;

std::string named(const std::string& label, const Place& place) {
  return place.known() ? fmt::format("{} ({})", label, to_string(place)) : label;
}

std::string readers_of(const StoredArray& array) {
  std::vector<std::string> readers;
  for (const Reader& reader : array.read_by)
    readers.push_back(reader.what + (reader.each_round ? ", in every round" : ""));
  return fmt::format("{}", fmt::join(readers, " and "));
}

class Expectations {
 public:
  explicit Expectations(const Report& report) : report_(report) {}

  std::vector<std::string> no_intermediates() {
    for (const StoredArray& array : report_.stored) {
      const bool is_given =
          array.maker == Maker::host || array.maker == Maker::source || array.maker == Maker::view;
      if (is_given || array.of_extents || array.read_by.empty()) continue;
      add("no_intermediates", "{} is stored by {} ({}), and read by {}", named(array.label, array.place),
          array.made_by, array.why, readers_of(array));
    }
    for (const Loop& loop : report_.loops)
      add("no_intermediates", "{} keeps its state from round to round", named(loop.label, loop.place));
    return std::move(out_);
  }

  std::vector<std::string> regular() {
    for (const Part& part : report_.parts)
      for (const Operation& o : part.operations)
        if (o.form == ir::Form::segmented)
          add("regular", "{} is segmented: {}", named(o.label, o.place), o.reason);
    return std::move(out_);
  }

  std::vector<std::string> one_pass() {
    for (const Source& source : report_.sources)
      if (source.streams.size() > 1)
        add("one_pass", "{} is read {} times, by {}", named(source.label, source.place),
            source.streams.size(), fmt::join(source.streams, " and "));
    for (const StoredArray& array : report_.stored) {
      if (array.depth > 0 || (array.maker != Maker::host && array.maker != Maker::source)) continue;
      const bool again = std::any_of(array.read_by.begin(), array.read_by.end(),
                                     [](const Reader& reader) { return reader.each_round; });
      if (array.read_by.size() > 1 || again)
        add("one_pass", "{} is read by {}", named(array.label, array.place), readers_of(array));
    }
    return std::move(out_);
  }

  std::vector<std::string> streaming() {
    if (report_.sources.empty())
      add("streaming", "{}: the program reads no stream",
          report_.result.empty() ? "the result" : report_.result);
    for (const StoredArray& array : report_.stored) {
      if (array.maker != Maker::stream || array.of_chunk) continue;
      if (!array.read_by.empty())
        add("streaming", "{} holds all that {} gives, as it is read by {}", named(array.label, array.place),
            array.made_by, readers_of(array));
      else if (array.depth > 0)
        add("streaming", "{} holds all that {} gives, inside of a loop or a branch",
            named(array.label, array.place), array.made_by);
    }
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(const char* expected, fmt::format_string<Args...> sentence, Args&&... args) {
    out_.push_back(fmt::format("require {}: ", expected) +
                   fmt::format(sentence, std::forward<Args>(args)...));
  }

  const Report& report_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> offences(const Report& report, Expect expected) {
  std::vector<std::string> out;
  const auto look = [&](Expect one, std::vector<std::string> (Expectations::*find)()) {
    if ((expected & one) != one) return;
    Expectations expectations(report);
    for (std::string& sentence : (expectations.*find)()) out.push_back(std::move(sentence));
  };
  look(Expect::no_intermediates, &Expectations::no_intermediates);
  look(Expect::regular, &Expectations::regular);
  look(Expect::one_pass, &Expectations::one_pass);
  look(Expect::streaming, &Expectations::streaming);
  return out;
}

void require(const Report& report, Expect expected) {
  const std::vector<std::string> found = offences(report, expected);
  if (found.empty()) return;
  throw ProgramError(found.size() == 1 ? found[0] : fmt::format("{} ({} more)", found[0], found.size() - 1));
}

}  // namespace anabranch::report
