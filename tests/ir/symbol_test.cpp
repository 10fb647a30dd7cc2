// Names that outlive every program.

#include <anabranch/symbol.h>

#include <string>
#include <thread>
#include <vector>

#include <anabranch/error.h>

#include "support/catch.h"

using namespace anabranch;

TEST_CASE("a literal is a symbol and costs nothing") {
  static constexpr Symbol plus = "plus";
  static_assert(plus == Symbol("plus"));
  static_assert(!Symbol());
  static_assert(!Symbol(""));
  static_assert(plus);
  constexpr const char* text = "times";
  CHECK(Symbol(text).c_str() == text);
}

TEST_CASE("interned texts are copies, kept once") {
  std::string text = "script.py";
  const Symbol first{std::string_view(text)};
  CHECK(first.c_str() != text.c_str());
  const Symbol second{std::string_view("a script.py").substr(2)};
  CHECK(first.c_str() == second.c_str());
  text = "other.py.";
  CHECK(first == Symbol("script.py"));
  CHECK_FALSE(first == Symbol(std::string_view(text)));
  CHECK_FALSE(Symbol(std::string_view()));
  CHECK(Symbol(std::string_view("a\0b", 3)) == Symbol("a"));
}

TEST_CASE("threads that intern the same texts get the same symbols") {
  constexpr int texts = 500;
  std::vector<std::vector<const char*>> of_thread(8);
  std::vector<std::thread> threads;
  for (auto& mine : of_thread)
    threads.emplace_back([&mine] {
      for (int i = 0; i < texts; ++i)
        mine.push_back(Symbol(std::string_view("name " + std::to_string(i))).c_str());
    });
  for (auto& thread : threads) thread.join();
  for (const auto& mine : of_thread) CHECK(mine == of_thread[0]);
  for (int i = 0; i < texts; ++i)
    CHECK(of_thread[0][static_cast<std::size_t>(i)] == "name " + std::to_string(i));
}

TEST_CASE("a place is where std::source_location says, or where another front end says") {
  const std::source_location here = std::source_location::current();
  const Place cpp = here;
  CHECK(cpp.file.c_str() == here.file_name());
  CHECK(cpp.line == here.line());
  Place script;
  {
    const std::string file = "/home/someone/model.py", function = "loss";
    script = Place(Symbol(std::string_view(file)), Symbol(std::string_view(function)), 12);
  }
  CHECK(to_string(script) == "model.py:12");
  CHECK(to_string(Place()) == "unknown place");
}
