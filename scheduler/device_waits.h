// How long the phases of pieces wait for a device, a disk say, and so how many threads beside those that compute are worth
// having: they read ahead, and commit, while those compute.
//
// A thread that waits for a device needs no processor. If r is the time of reading a piece and c the processor time that all
// its phases take, n threads compute n / c pieces a second; as many are read by n r / c threads. Not thread-safe.
#pragma once

#include <cstdint>

namespace anabranch::scheduler {

class DeviceWaits {
 public:
  /// Of a piece.
  struct Piece {
    int64_t read_ns = 0, read_waited_ns = 0;    ///< the second is a part of the first
    int64_t write_ns = 0, write_waited_ns = 0;  ///< likewise
    int64_t compute_ns = 0;                     ///< of all threads that computed it
  };

  /// `computing`: threads that do.
  explicit DeviceWaits(int computing) : computing_(computing) {}

  /// Whether to measure the piece of this number: it takes more than a microsecond.
  static bool measures(int64_t piece) noexcept { return piece < 16 || piece % 8 == 0; }
  /// One that was measured.
  void add(const Piece& piece) noexcept;

  /// Threads worth having to read ahead: none where reading hardly waits.
  int readers() const noexcept { return readers_; }
  /// Whether one more is worth having to commit.
  bool writer() const noexcept { return writer_; }

 private:
  const int computing_;
  // A phase of the pieces.
  struct Waited {
    double ns = 0;     // of a piece, in the mean
    double often = 0;  // share of the pieces
    bool is_worth_a_thread(bool was, double busy) const noexcept;
  };

  int64_t added_ = 0;
  int64_t waited_ns_ = 0;  // in all
  // Means, in which the last pieces weigh most.
  Waited reading_, writing_;
  double read_ = 0, busy_ = 0;
  int readers_ = 0;
  bool writer_ = false;
};

}  // namespace anabranch::scheduler
