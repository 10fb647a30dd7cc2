#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/file.h"

/// Writing an uncompressed zip file whose members' sizes are known only at their end. Every member gets the
/// zip64 field in its header, as NumPy writes it, so that sizes of any length can be filled in.
namespace anabranch::io::detail {

class ZipWriter {
 public:
  explicit ZipWriter(std::shared_ptr<File> file) : out_(std::move(file)) {}

  /// Begins a member whose first `patched` bytes are given at its end.
  void begin(const std::string& name, std::int64_t patched);
  void append(const void* from, std::int64_t bytes);
  /// Ends the member; `start` are its first bytes.
  void end(const std::string& start);
  /// A whole member at once.
  void member(const std::string& name, const std::string& bytes);
  /// Writes the directory.
  void finish();

 private:
  struct Member {
    std::string name;
    std::uint32_t crc = 0;
    std::int64_t size = 0;
    std::int64_t header = 0;  ///< offset of its local header
  };
  std::string local_header(const Member& member) const;

  BufferedWriter out_;
  std::vector<Member> members_;
  std::int64_t patched_ = 0;
  std::uint32_t crc_ = 0;  ///< of what follows the patched bytes
};

}  // namespace anabranch::io::detail
