#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

/// Bytes that arrive at a file descriptor.
namespace anabranch::io::detail {

/// Until when somebody waits for them.
struct Waiting {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::stop_token stop{};
};

class Descriptor {
 public:
  /// `close`: when it is destroyed, or at the end. IoError where it is not open.
  Descriptor(int fd, bool close, std::string name);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const std::string& name() const { return name_; }
  enum class Arrival : std::uint8_t { bytes, end, nothing };
  /// Waits until some bytes are there, or the end, and takes them: `got`. Nothing where the time is up or a stop is
  /// requested before. Throws IoError.
  Arrival read(void* into, std::int64_t most, std::int64_t& got, const Waiting& waiting);

 private:
  bool wait(const Waiting& waiting) const;
  void close();

  int fd_;
  int wake_;  ///< readable when a stop is requested
  bool close_;
  std::string name_;
};

/// Those that have arrived and have not been taken yet.
class ArrivedBytes {
 public:
  const unsigned char* data() const { return bytes_.data() + begin_; }
  std::int64_t size() const { return end_ - begin_; }
  void take(std::int64_t bytes);
  /// One more, which has not arrived.
  void add(unsigned char byte);
  /// More of them, behind those that are there.
  Descriptor::Arrival more(Descriptor& from, const Waiting& waiting);

 private:
  void make_room(std::int64_t bytes);

  std::vector<unsigned char> bytes_;
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace anabranch::io::detail
