// Lines and words: of files, and as they are written.

#include "support/catch.h"

#include <algorithm>
#include <random>
#include <tuple>

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
    for (const std::int64_t size : {5'000, 8'191, 300'000, 1'000'000}) {
      source.erased()->rewind();
      CHECK((items_in_pieces(*source.erased(), {.items = size, .work = size, .counted = false}) == expected));
    }
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

using Pieces = std::vector<std::unique_ptr<SourcePiece>>;

/// All that is left of it.
Pieces pieces_of(SourceBase& source, const Limit& limit) {
  Pieces pieces;
  while (auto piece = source.split(limit)) pieces.push_back(std::move(piece));
  return pieces;
}
/// Pieces of about so many bytes, counted where that is needed.
Limit open_limit(std::int64_t size) { return {.items = size, .work = size, .counted = false}; }

std::ptrdiff_t not_counted(const Pieces& pieces) {
  return std::count_if(pieces.begin(), pieces.end(), [](const auto& piece) { return piece->items() < 0; });
}

TEST_CASE("text: where the last item of a block ends") {
  const auto end = [](TextItems kind, const std::string& text) {
    return io::detail::end_of_last_item(kind, reinterpret_cast<const unsigned char*>(text.data()),
                                        std::ssize(text));
  };
  for (const auto& [text, lines, words] : std::vector<std::tuple<std::string, int, int>>{{"", 0, 0},
                                                                                         {"ab", 0, 0},
                                                                                         {"a b", 0, 2},
                                                                                         {"\n", 1, 0},
                                                                                         {" \n\n ", 3, 0},
                                                                                         {"a\n", 2, 2},
                                                                                         {"a\r\n\n", 4, 4},
                                                                                         {"a\n\nb", 3, 3},
                                                                                         {"a  \n \tb", 4, 6},
                                                                                         {" \nbcd", 2, 0}}) {
    INFO(text);
    CHECK(end(TextItems::lines, text) == lines);
    CHECK(end(TextItems::words, text) == words);
  }
}

TEST_CASE("text: pieces are counted when they are read, unless that could go wrong") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += i % 3 == 0 ? "\n" : "a line, and \t words\r\n";
  for (const TextItems kind : {TextItems::lines, TextItems::words}) {
    /// Pieces that were not counted, and all.
    const auto open_pieces = [&](const std::string& of, const Limit& limit) {
      const auto source = open(kind, of);
      const Pieces pieces = pieces_of(*source, limit);
      for (const auto& piece : pieces) {
        SourceChunk chunk;
        piece->read(chunk);
        CHECK(chunk.items <= limit.items);
        const std::int64_t bytes = piece->items() < 0 ? chunk.bytes - chunk.bytes / 8 : 0;  // but for slack
        CHECK(bytes <= std::min(limit.bytes, limit.memory));
        piece->complete();
      }
      return std::pair(not_counted(pieces), std::ssize(pieces));
    };
    const auto none_open = [&](const std::string& of, const Limit& limit) {
      return open_pieces(of, limit).first == 0;
    };
    const Limit limit = open_limit(9'000);
    const auto [usual, usual_all] = open_pieces(text, limit);
    CHECK(usual == usual_all - 1);  // the last one reaches the end of the file
    CHECK(usual >= 20);
    Limit other = limit;
    other.counted = true;
    CHECK(none_open(text, other));
    other = limit;
    other.items = 5'000;  // there might be more
    CHECK(none_open(text, other));
    for (std::int64_t Limit::* const bytes : {&Limit::bytes, &Limit::memory}) {
      other = limit;
      other.*bytes = 20'000;  // the offsets of empty lines might take more
      CHECK(none_open(text, other));
      CHECK(none_open(std::string(200'000, '\n') + "x ", other));
      other.*bytes = 40'000;  // so pieces are smaller
      const auto [open, all] = open_pieces(text, other);
      CHECK(open == all - 1);
      CHECK(open > usual);
      if (kind == TextItems::lines) CHECK(open_pieces(std::string(200'000, '\n'), other).first > 0);
    }
    // No end of an item is found close enough.
    CHECK(none_open(std::string(8'000, '\n') + std::string(8'000, 'x') + "\n", limit));
    CHECK(none_open("x" + std::string(30'000, ' ') + "\n", limit));
  }
}

TEST_CASE("text: what is in pieces that are not counted") {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 8; ++trial) {
    std::string text;
    while (text.size() < 60'000) {
      for (std::uint64_t n = random() % (trial % 2 == 0 ? 12U : 150U); n > 0; --n)
        text += " \tabcdefghij\r"[random() % 13];
      if (random() % 5 == 0) text += std::string(random() % 100, trial % 3 == 0 ? '\n' : ' ');
      text += random() % 3 == 0 ? "\r\n" : "\n";
    }
    if (trial % 4 == 0) text += "the end";
    for (const TextItems kind : {TextItems::lines, TextItems::words}) {
      const auto source = open(kind, text);
      const auto expected = items_from(divided(kind, text));
      for (const std::int64_t size : {4'096, 4'100, 5'003, 20'000, 50'000}) {
        source->rewind();
        CHECK(not_counted(pieces_of(*source, open_limit(size))) > 0);
        source->rewind();
        CHECK(items_in_pieces(*source, open_limit(size)) == expected);
      }
      // Some are counted, as a limit says.
      source->rewind();
      ReadItems items;
      for (int k = 0;; ++k) {
        const auto piece = source->split(k % 3 == 1 ? Limit{.items = 7} : open_limit(6'000));
        if (!piece) break;
        SourceChunk chunk;
        piece->read(chunk);
        piece->complete();
        append_items(*source, chunk, items);
      }
      CHECK(items == expected);
    }
  }
}

TEST_CASE("text: a piece that was not counted says which item is too long") {
  // Behind the first word a block that has none.
  const std::string white_space = "a\n" + std::string(10'000, '\n');
  const int lines_before = 10'001;
  for (const TextItems kind : {TextItems::lines, TextItems::words})
    for (const int wrong : {0, 1, 700, 9'999, 15'000, 19'999}) {
      std::string text = white_space;
      for (int i = 0; i < 20'000; ++i) text += (i == wrong ? std::string(60, 'x') : "some") + " word\n";
      const std::string line = std::to_string(lines_before + wrong + 1),
                        message = kind == TextItems::lines ? "line " + line + " is longer than 50 bytes"
                                                           : "word " + std::to_string(2 * wrong + 2) +
                                                                 ", in line " + line + ", is longer";
      const auto source = open(kind, text, {.longest = 50});
      for (const bool complete : {true, false}) {
        source->rewind();
        Pieces pieces = pieces_of(*source, open_limit(9'000));
        REQUIRE(not_counted(pieces) >= 10);
        const auto read_all = [&] {
          if (!complete) std::reverse(pieces.begin(), pieces.end());
          for (const auto& piece : pieces) {
            SourceChunk chunk;
            piece->read(chunk);
            if (complete) piece->complete();
          }
        };
        CHECK_THROWS_WITH(read_all(), Contains(message));
      }
      source->rewind();
      CHECK_THROWS_WITH(items_of(*source, {.items = 100}), Contains(message));
    }
}

TEST_CASE("text: lines before a word that did not fit are counted with the piece that has it") {
  std::string text = std::string(10'000, '\n') + std::string(45, 'w') + "\n";
  for (int i = 0; i < 5'000; ++i) text += (i == 3'000 ? std::string(60, 'x') : "some") + " word\n";
  const auto source = open(TextItems::words, text, {.longest = 50});
  CHECK_THROWS_AS(source->split({.memory = 40}), ItemTooBig);
  const Pieces pieces = pieces_of(*source, open_limit(9'000));
  REQUIRE(pieces[0]->items() < 0);
  const auto read_all = [&] {
    for (const auto& piece : pieces) {
      SourceChunk chunk;
      piece->read(chunk);
      piece->complete();
    }
  };
  CHECK_THROWS_WITH(read_all(), Contains("word 6002, in line 13002, is longer"));
}

TEST_CASE("text: a file that changes while its pieces are read") {
  TemporaryDirectory dir;
  const std::string path = dir / "t.txt";
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "a word\r\n";
  for (const bool lines : {true, false}) {
    write_file(path, text);
    const auto source = lines ? io::open_lines(path) : io::open_words(path);
    const Pieces pieces = pieces_of(*source.erased(), open_limit(10'000));
    REQUIRE(not_counted(pieces) > 2);
    SourceChunk chunk;
    pieces[0]->read(chunk);
    pieces[0]->complete();
    write_file(path, text + "x");
    pieces[1]->read(chunk);
    CHECK_THROWS_WITH(pieces[1]->complete(), path + ": the file changed while it was read");
    // All of it has been read before, but for what an end of it was looked for in.
    write_file(path, "a");
    CHECK_THROWS_AS(pieces[2]->read(chunk), DataError);
  }
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
