#include <anabranch/io/text.h>

#include "io/base/file.h"
#include "io/base/path_claim.h"

/// Text into a file.
namespace anabranch::io {

namespace detail {

class TextOutput {
 public:
  explicit TextOutput(const std::string& path) : claim_(path), file_(path), out_(file_.file()) {}

  void append(std::string_view text) {
    file_.guarded([&] { out_.append(text.data(), static_cast<std::int64_t>(text.size())); });
  }
  void commit() {
    file_.guarded([&] {
      out_.flush();
      file_.commit();
    });
  }

 private:
  PathClaim claim_;
  AtomicFile file_;
  BufferedWriter out_;
};

}  // namespace detail

TextWriter::TextWriter(const std::string& path) : out_(std::make_unique<detail::TextOutput>(path)) {}
TextWriter::~TextWriter() = default;
TextWriter::TextWriter(TextWriter&&) noexcept = default;
TextWriter& TextWriter::operator=(TextWriter&&) noexcept = default;

void TextWriter::append(std::string_view text) { out_->append(text); }
void TextWriter::commit() { out_->commit(); }

}  // namespace anabranch::io
