#include "cache/entry.h"

#include <set>

#include "support/catch.h"

using namespace anabranch::cache;

TEST_CASE("an entry gives its image back, for its key only") {
  for (const std::string key : {"", "key", "a longer key\nwith lines"})
    for (const std::string& image : {std::string(), std::string("image"), std::string(1000, '\0')}) {
      const std::string bytes = encode_entry(key, image);
      CHECK(decode_entry(bytes, key) == image);
      CHECK_FALSE(decode_entry(bytes, key + " "));
      if (!key.empty()) CHECK_FALSE(decode_entry(bytes, key.substr(1)));
    }
  // What is key and what is image is no matter of luck.
  CHECK_FALSE(decode_entry(encode_entry("key", "image"), "keyi"));
}

TEST_CASE("a changed bit of an entry is found, wherever it is") {
  const std::string key = "key of a kernel", image = "its image, some bytes long",
                    whole = encode_entry(key, image);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      INFO("byte " << at << ", bit " << bit);
      CHECK_FALSE(decode_entry(bytes, key));
    }
}

TEST_CASE("an entry cut off anywhere, or with something behind it, is none") {
  const std::string key = "key", whole = encode_entry(key, "image");
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(decode_entry(whole.substr(0, size), key));
  CHECK_FALSE(decode_entry(whole + '\0', key));
  CHECK_FALSE(decode_entry(whole + whole, key));
  CHECK_FALSE(decode_entry(std::string(whole.size(), '\0'), key));
}

TEST_CASE("entries are named by a fingerprint of their key") {
  CHECK(fingerprint("") == "99aa06d3014798d86001c324468d497f");  // XXH3's published value
  const std::string name = entry_name("key");
  CHECK(name == fingerprint("key") + ".kernel");
  CHECK(entry_name_at(name) == name.size());
  CHECK(entry_name_at(name + ".anything") == name.size());
  for (const std::string& other : {std::string(), name.substr(1), "x" + name.substr(1), fingerprint("key"),
                                   fingerprint("key") + ".kernal", std::string("README.kernel")})
    CHECK(entry_name_at(other) == 0);
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(entry_name(std::to_string(i)));
  CHECK(names.size() == 1000);
}
