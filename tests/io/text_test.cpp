// Lines and words: of files, and as they are written.

#include "support/catch.h"

#include <algorithm>
#include <random>

#include <anabranch/io.h>

#include "io/text/text_scan.h"
#include "io/text/text_source.h"
#include "items.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;
using Catch::Matchers::Contains;
using io::detail::TextItems;

namespace {

using Strings = std::vector<std::string>;

ReadItems items_from(const Strings& strings) {
  ReadItems items;
  for (const std::string& s : strings) items.push_back({{{static_cast<std::int64_t>(s.size())}, {s}}});
  return items;
}

/// What the items of a text are, found byte by byte.
Strings divided(TextItems kind, const std::string& text) {
  Strings out;
  std::string item;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (kind == TextItems::lines) {
      inside = true;
      if (c != '\n') {
        item += c;
        continue;
      }
      if (!item.empty() && item.back() == '\r') item.pop_back();
    } else if (std::string(" \t\n\v\f\r").find(c) == std::string::npos) {
      inside = true;
      item += c;
      continue;
    }
    if (inside) out.push_back(item);
    inside = false;
    item.clear();
  }
  if (inside) out.push_back(item);
  return out;
}

std::shared_ptr<SourceBase> open(TextItems kind, const std::string& text,
                                 const io::TextOptions& options = {}) {
  return io::detail::open_text(io::detail::memory_file("t.txt", {text.begin(), text.end()}), kind, options);
}

void check_text(const std::string& text) {
  for (const TextItems kind : {TextItems::lines, TextItems::words}) {
    INFO((kind == TextItems::lines ? "lines" : "words"));
    check_source(*open(kind, text), items_from(divided(kind, text)));
  }
}

std::string fault(TextItems kind, const std::string& text, std::int64_t longest, const Limit& limit = {}) {
  try {
    items_of(*open(kind, text, {.longest = longest}), limit);
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("text: line ends, empty lines, white space, and a last line without an end") {
  const auto lines = [](const std::string& text) { return items_of(*open(TextItems::lines, text)); };
  const auto words = [](const std::string& text) { return items_of(*open(TextItems::words, text)); };
  CHECK(lines("") == items_from({}));
  CHECK(lines("\n") == items_from({""}));
  CHECK(lines("a") == items_from({"a"}));
  CHECK(lines("a\n") == items_from({"a"}));
  CHECK(lines("a\nbc\n\n\nd") == items_from({"a", "bc", "", "", "d"}));
  CHECK(lines("a\r\nb\r\n\r\n") == items_from({"a", "b", ""}));
  CHECK(lines("a\rb\r\r\n\rc\r") == items_from({"a\rb\r", "\rc\r"}));
  CHECK(lines(std::string("a\0b\n\xff", 5)) == items_from({std::string("a\0b", 3), "\xff"}));
  CHECK(words("") == items_from({}));
  CHECK(words(" \t\n\v\f\r ") == items_from({}));
  CHECK(words("a") == items_from({"a"}));
  CHECK(words("  one two\r\n\r\nthree\tfour ") == items_from({"one", "two", "three", "four"}));
  CHECK(words(std::string("a\0b \x1f\xa0", 6)) == items_from({std::string("a\0b", 3), "\x1f\xa0"}));
}

TEST_CASE("text: in chunks and pieces of any size") {
  for (const char* text :
       {"", "\n", "x", "\n\n\n", "one\ntwo\r\nthree", " a  b\n\n c\n", "a\nb\nc\nd\ne\nf\ng\n"})
    check_text(text);
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 6; ++trial) {
    std::string text;
    const int most = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 90 : 1500;
    for (int line = 0; line < 60; ++line) {
      for (std::uint64_t n = random() % static_cast<unsigned>(most); n > 0; --n)
        text += " \tabcdefghij\r"[random() % 13];
      text += random() % 3 == 0 ? "\r\n" : "\n";
    }
    if (trial % 2 == 0) text += "the end";
    check_text(text);
  }
}

TEST_CASE("text: files larger than every block, from the disk") {
  TemporaryDirectory dir;
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 37), 'x') + "\n";
  text += std::string(1 << 20, 'y');  // longer than a block
  text += "\nlast";
  write_file(dir / "t.txt", text);
  for (const bool lines : {true, false}) {
    const auto source = lines ? io::open_lines(dir / "t.txt") : io::open_words(dir / "t.txt");
    const auto expected = items_from(divided(lines ? TextItems::lines : TextItems::words, text));
    const SourceInfo& info = source.info();
    CHECK(info.name == dir / "t.txt");
    CHECK((info.rewindable && info.splits && !info.live && !info.in_memory && !info.items && !info.work));
    CHECK((items_of(*source.erased(), {INT64_MAX, 1 << 20}) == expected));
    source.erased()->rewind();
    CHECK((items_in_pieces(*source.erased(), {INT64_MAX, INT64_MAX, 300'000}) == expected));
    source.erased()->rewind();
    CHECK((items_of(*source.erased(), {10'000}) == expected));
  }
  CHECK_THROWS_AS(io::open_lines(dir / "none"), IoError);
  CHECK_THROWS_AS(io::open_lines(dir.path()), IoError);
}

TEST_CASE("text: chunks end at the first limit reached") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 2 == 0 ? "0123456789\n" : "\n";
  const auto source = open(TextItems::lines, text);
  SourceChunk chunk;
  for (const Limit& limit :
       {Limit{5}, Limit{INT64_MAX, 200}, Limit{INT64_MAX, INT64_MAX, 64}, Limit{INT64_MAX, 1}}) {
    source->rewind();
    while (source->next(limit, chunk)) {
      REQUIRE(chunk.items <= limit.items);
      if (chunk.items == 1) continue;
      REQUIRE(chunk.work <= limit.work);
      REQUIRE(chunk.work + 4 * (chunk.items + 1) <= limit.bytes);
    }
  }
  source->rewind();
  REQUIRE(source->next({7}, chunk));
  CHECK(chunk.items == 7);
}

TEST_CASE("text: an item longer than allowed is an error that names it, its line and the file") {
  for (const Limit& limit : some_limits()) {
    CHECK(fault(TextItems::lines, "abcde\r\nabcde\nab", 5, limit).empty());
    CHECK_THAT(fault(TextItems::lines, "abcde\n\nabcdef\nx", 5, limit),
               Contains("t.txt: line 3 is longer than 5 bytes"));
    CHECK_THAT(fault(TextItems::lines, "abcdef", 5, limit), Contains("line 1 is longer than 5 bytes"));
    CHECK_THAT(fault(TextItems::lines, "abcde\r", 5, limit), Contains("line 1 is longer"));
    CHECK_THAT(fault(TextItems::lines, "abcde\rx\n", 5, limit), Contains("line 1 is longer"));
    CHECK(fault(TextItems::words, "abcde fghij\n\n abcde", 5, limit).empty());
    CHECK_THAT(fault(TextItems::words, "a b\nc\n\n  abcdef d", 5, limit),
               Contains("t.txt: word 4, in line 4, is longer than 5 bytes"));
    CHECK_THAT(fault(TextItems::words, "\nabcdef", 5, limit), Contains("word 1, in line 2"));
  }
  // Without its end having been found.
  const std::string giant = "short\n" + std::string(1 << 20, 'x');
  CHECK_THAT(fault(TextItems::lines, giant, 10'000, {1}), Contains("line 2 is longer than 10000 bytes"));
  CHECK_THAT(fault(TextItems::words, giant + " y", 10'000, {1}), Contains("word 2, in line 2,"));
  CHECK(fault(TextItems::lines, giant, 1 << 20).empty());
}

TEST_CASE("text: an item that does not fit is refused, and given when it does") {
  const std::string text = "ab\n" + std::string(5000, 'x') + "\ncd\n";
  for (const bool pieces : {false, true}) {
    const auto source = open(TextItems::lines, text);
    SourceChunk chunk;
    Limit limit{1};
    limit.memory = 4000;
    REQUIRE(source->next(limit, chunk));
    if (pieces)
      CHECK_THROWS_AS(source->split(limit), ItemTooBig);
    else
      CHECK_THROWS_WITH(source->next(limit, chunk), Contains("t.txt: line 2 takes more than the 4000 bytes"));
    limit.memory = 20'000;
    REQUIRE(source->next(limit, chunk));
    CHECK(chunk.work == 5000);
    CHECK(items_of(*source) == items_from({"cd"}));
  }
  CHECK_THROWS_AS(items_of(*open(TextItems::lines, text, {.memory = 4000})), ResourceError);
}

TEST_CASE("text: a file that changes while it is read") {
  TemporaryDirectory dir;
  const std::string path = dir / "t.txt", text = "a\nb\nc\nd\n  ";
  for (const bool lines : {true, false}) {
    write_file(path, text);
    const auto source = lines ? io::open_lines(path) : io::open_words(path);
    SourceChunk chunk;
    REQUIRE(source.erased()->next({1}, chunk));
    write_file(path, text);
    CHECK_THROWS_WITH(items_of(*source.erased(), {1}), path + ": the file changed while it was read");
    source.erased()->rewind();
    write_file(path, "a\n");
    CHECK_THROWS_AS(items_of(*source.erased(), {1}), DataError);
  }
}

TEST_CASE("text: of a block from which no item may be taken nothing is") {
  const std::string text = "one two\nthree four\n";
  for (const TextItems kind : {TextItems::lines, TextItems::words})
    for (const std::int64_t most : {0, -1}) {
      const auto* block = reinterpret_cast<const unsigned char*>(text.data());
      for (const auto cut : {io::detail::cut_text(kind, block, std::ssize(text), most),
                             io::detail::cut_plain_text(kind, block, std::ssize(text), most)}) {
        CHECK(cut.items == 0);
        CHECK(cut.bytes == 0);
      }
    }
}

TEST_CASE("text: an item that fits is not refused because more was to be read") {
  for (const std::int64_t length : {60'000, 66'000, 80'000, 99'000, 99'990}) {
    const std::string line(static_cast<std::size_t>(length), 'x');
    std::string text = line + "\n";
    for (int i = 0; i < 20'000; ++i) text += "some other line\n";
    for (const std::int64_t items : {std::int64_t{1}, std::int64_t{1000}, INT64_MAX})
      for (const TextItems kind : {TextItems::lines, TextItems::words}) {
        SourceChunk chunk;
        REQUIRE(open(kind, text, {.memory = 100'000})->next({items}, chunk));
        CHECK((chunk.bytes <= 100'000 || length > 98'000));
        CHECK(array_at(io::detail::text_info("").arrays[0], chunk.arrays[0], 0) == items_from({line})[0][0]);
        Limit limit{items};
        limit.memory = 100'000;
        REQUIRE(open(kind, text)->next(limit, chunk));
      }
  }
  const std::string text = std::string(99'992, 'x') + "\n" + std::string(1000, 'y');
  CHECK_THROWS_AS(items_of(*open(TextItems::lines, text, {.memory = 100'000})), ResourceError);
  const auto words = open(TextItems::words, std::string(70'000, ' ') + std::string(90'000, 'x') + " y");
  Limit limit;
  limit.memory = 100'000;
  CHECK(items_of(*words, limit) == items_from({std::string(90'000, 'x'), "y"}));
  limit = {.items = 1, .memory = 40};
  CHECK(items_of(*open(TextItems::lines, "one\ntwo\n" + std::string(20, 'x')), limit) ==
        items_from({"one", "two", std::string(20, 'x')}));
}
