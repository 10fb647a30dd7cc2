#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <anabranch/anabranch.h>

/// Where features wait until a file of them can be put together.
namespace anabranch::apps {

/// Rows of floats in a file without a name, in $TMPDIR, else /var/tmp, which goes with the process. Throws IoError.
class Spool {
 public:
  /// `columns`: of a row; 0: rows are single values.
  Spool(std::string name, std::int64_t columns);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  const std::string& name() const { return name_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t width() const { return columns_ > 0 ? columns_ : 1; }  ///< floats of a row
  std::int64_t rows() const { return rows_; }

  void clear() { rows_ = 0; }
  void append(const float* rows, std::int64_t count);
  void read(std::int64_t row, std::int64_t count, float* into) const;

  /// Of a run: what it writes comes behind what is there. The spool outlives these.
  Sink<Scalar<float>> values();
  Sink<Vector<float>> vectors();
  Source<Vector<float>> stream() const;

 private:
  std::string name_, place_;  ///< for messages
  std::int64_t columns_;
  int file_ = -1;
  std::int64_t rows_ = 0;
};

}  // namespace anabranch::apps
