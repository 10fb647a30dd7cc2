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

std::string names_of(const std::vector<Reader>& readers) {
  std::vector<std::string> names;
  for (const Reader& reader : readers)
    names.push_back(reader.what + (reader.each_round ? ", in every round" : ""));
  return fmt::format("{}", fmt::join(names, " and "));
}

bool in_every_round(const std::vector<Reader>& readers) {
  return std::any_of(readers.begin(), readers.end(), [](const Reader& reader) { return reader.each_round; });
}

class Expectations {
 public:
  explicit Expectations(const Report& report) : report_(report) {}

  std::vector<std::string> no_intermediates() {
    for (const StoredArray& array : report_.stored) {
      const bool is_given =
          array.maker == Maker::host || array.maker == Maker::source || array.maker == Maker::view;
      if (is_given || array.of_extents || array.is_result || array.read_by.empty()) continue;
      add("no_intermediates", "{} is stored by {} ({}), and read by {}", named(array.label, array.place),
          array.made_by, array.why, names_of(array.read_by));
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
      if (source.read_by.size() > 1)
        add("one_pass", "{} is read {} times, by {}", named(source.label, source.place),
            source.read_by.size(), names_of(source.read_by));
      else if (in_every_round(source.read_by))
        add("one_pass", "{} is read by {}", named(source.label, source.place), names_of(source.read_by));
    for (const StoredArray& array : report_.stored) {
      // Who reads what a program inside is given is said of what is given to it, too.
      const bool is_given = (array.maker == Maker::source && !array.of_items) ||
                            (array.maker == Maker::host && array.depth == 0);
      if (is_given && (array.read_by.size() > 1 || in_every_round(array.read_by)))
        add("one_pass", "{} is read by {}", named(array.label, array.place), names_of(array.read_by));
    }
    return std::move(out_);
  }

  std::vector<std::string> streaming() {
    if (report_.sources.empty())
      add("streaming", "{}: the program reads no stream",
          report_.result.empty() ? "the result" : report_.result);
    for (const StoredArray& array : report_.stored) {
      if (array.of_chunk) continue;
      if (array.maker == Maker::stream)
        whole(array);
      else if (array.maker != Maker::host || array.is_state)
        read_by_rows(array);
    }
    return std::move(out_);
  }

 private:
  /// All that a stream gives, unless it is just a result of the program.
  void whole(const StoredArray& array) {
    const std::string name = named(array.label, array.place);
    if (!array.read_by.empty())
      add("streaming", "{} holds all that {} gives, as it is read by {}", name, array.made_by,
          names_of(array.read_by));
    else if (!array.is_result)
      add("streaming", "{} holds all that {} gives, and is no result: only its size is asked", name,
          array.made_by);
    else if (array.depth > 0)
      add("streaming", "{} holds all that {} gives, inside of a loop or a branch", name, array.made_by);
  }

  /// A stream of the rows of what is computed: that is as long as the stream.
  void read_by_rows(const StoredArray& array) {
    const bool by_rows = std::any_of(array.read_by.begin(), array.read_by.end(),
                                     [](const Reader& reader) { return reader.by_rows; });
    if (by_rows)
      add("streaming", "{} is stored whole by {} ({}), and read by {}", named(array.label, array.place),
          array.is_state ? "a loop" : array.made_by, array.why, names_of(array.read_by));
  }

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
