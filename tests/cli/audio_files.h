#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Audio files, and files of features, without the library.
namespace cli_test {

/// The signals of tests/tools/make_librosa_numbers.py.
inline std::vector<std::int16_t> audio_signal(std::int64_t samples, std::int64_t seed) {
  std::vector<std::int16_t> out;
  std::int64_t state = seed, phase = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF;
    const std::int64_t noise = (state >> 16) % 601 - 300;
    phase = (phase + 50 + i / 16) % 4000;
    const std::int64_t triangle = (std::abs(phase - 2000) - 1000) * 12;
    const bool silent = samples / 2 <= i && i < samples * 3 / 4;
    out.push_back(static_cast<std::int16_t>(silent ? 0 : triangle + noise));
  }
  return out;
}

/// A WAV file of samples, whose channels are interleaved: of 16-bit integers or of floats.
template <class T>
std::string wav(const std::vector<T>& samples, int channels = 1, int rate = 22050) {
  std::string out;
  const auto put = [&](auto value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 255);
  };
  const std::size_t bytes = samples.size() * sizeof(T);
  out += "RIFF";
  put(36 + bytes, 4);
  out += "WAVEfmt ";
  put(16, 4);
  put(std::is_floating_point_v<T> ? 3 : 1, 2);
  put(channels, 2);
  put(rate, 4);
  put(rate * channels * static_cast<int>(sizeof(T)), 4);
  put(channels * static_cast<int>(sizeof(T)), 2);
  put(8 * sizeof(T), 2);
  out += "data";
  put(bytes, 4);
  out.append(reinterpret_cast<const char*>(samples.data()), bytes);
  return out;
}

struct NpzArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Every array of an .npz file whose members are not compressed. Throws where it is none.
inline std::map<std::string, NpzArray> npz_arrays(const std::string& bytes) {
  std::map<std::string, NpzArray> out;
  const auto number = [&](std::size_t at, int width) {
    std::uint64_t value = 0;
    for (int i = width; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes.at(at + static_cast<std::size_t>(i)));
    return value;
  };
  std::size_t at = 0;
  while (bytes.compare(at, 4, "PK\x03\x04") == 0) {
    if (number(at + 8, 2) != 0) throw std::runtime_error("a member is compressed");
    const std::size_t name_bytes = number(at + 26, 2), extra = number(at + 28, 2);
    const std::string name = bytes.substr(at + 30, name_bytes);
    std::size_t size = number(at + 18, 4);
    if (size == 0xffffffff) size = number(at + 30 + name_bytes + 4, 8);  // zip64
    const std::size_t begin = at + 30 + name_bytes + extra, header = begin + 10 + number(begin + 8, 2);
    const std::string text = bytes.substr(begin + 10, header - begin - 10);
    const bool wide = text.find("'<f8'") != std::string::npos;
    if (!wide && text.find("'<f4'") == std::string::npos) throw std::runtime_error(name + ": another dtype");
    NpzArray array;
    for (std::size_t digit = text.find('(') + 1; text[digit] != ')';) {
      std::size_t used = 0;
      array.shape.push_back(std::stoll(text.substr(digit), &used));
      digit += used;
      while (text[digit] == ',' || text[digit] == ' ') ++digit;
    }
    for (std::size_t i = header; i < begin + size; i += wide ? 8 : 4) {
      float narrow = 0;
      double value = 0;
      if (wide)
        std::memcpy(&value, bytes.data() + i, 8);
      else
        std::memcpy(&narrow, bytes.data() + i, 4), value = narrow;
      array.values.push_back(value);
    }
    if (!name.ends_with(".npy") || !out.emplace(name.substr(0, name.size() - 4), array).second)
      throw std::runtime_error(name + ": no array, or there twice");
    at = begin + size;
  }
  if (bytes.compare(at, 4, "PK\x01\x02") != 0) throw std::runtime_error("no directory where it should begin");
  return out;
}

}  // namespace cli_test
