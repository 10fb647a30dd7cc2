#include "io/descriptor/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/system.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t least_room = 64 << 10;
constexpr std::int64_t idle_room = 1 << 20;  // more than this is given back when it is empty

/// The side of a pseudo-terminal that has made it.
bool is_master_of_terminal(int fd) {
  unsigned number = 0;
  return ::ioctl(fd, TIOCGPTN, &number) == 0;
}

[[noreturn]] void fail(const std::string& name, const char* what, int error) {
  throw IoError(fmt::format("{}: {}: {}", name, what, std::generic_category().message(error)));
}

}  // namespace

Descriptor::Descriptor(int fd, bool close, std::string name)
    : fd_(fd),
      wake_(-1),
      close_(false),
      name_(name.empty() ? fmt::format("descriptor {}", fd) : std::move(name)) {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) fail(name_, "cannot read", errno);
  if ((flags & O_ACCMODE) == O_WRONLY) fail(name_, "cannot read", EBADF);  // poll would wait for ever
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) fail(name_, "cannot wait for it", errno);
  close_ = close;
}

Descriptor::~Descriptor() {
  close();
  ::close(wake_);
}

void Descriptor::close() {
  if (close_ && fd_ >= 0) system_calls().close(fd_);
  if (close_) fd_ = -1;
}

/// False where the time is up or a stop is requested.
bool Descriptor::wait(const Waiting& waiting) const {
  using Clock = std::chrono::steady_clock;
  const auto wake = [this] {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  };
  const std::stop_callback stopped(waiting.stop, wake);
  for (;;) {
    if (waiting.stop.stop_requested()) return false;
    int milliseconds = -1;
    if (waiting.until != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting.until - Clock::now()).count();
      milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
    }
    pollfd fds[2] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
    const int ready = system_calls().poll(fds, 2, milliseconds);
    if (ready < 0 && errno != EINTR) fail(name_, "cannot wait for it", errno);
    if (ready > 0 && fds[1].revents != 0) {  // perhaps by who waited before, and was stopped as items arrived
      std::uint64_t count;
      (void)!::read(wake_, &count, sizeof count);
    }
    if (ready > 0 && fds[0].revents != 0) return true;
    if (ready == 0) return false;
  }
}

Descriptor::Arrival Descriptor::read(void* into, std::int64_t most, std::int64_t& got,
                                     const Waiting& waiting) {
  got = 0;
  if (fd_ < 0) return Arrival::end;
  for (;;) {
    if (!wait(waiting)) return Arrival::nothing;
    const ssize_t bytes = system_calls().read(fd_, into, static_cast<std::size_t>(most));
    if (bytes > 0) {
      got = bytes;
      return Arrival::bytes;
    }
    // The end of a terminal whose other side, which another program had, is closed.
    const int error = bytes < 0 ? errno : 0;
    if (bytes == 0 || (error == EIO && is_master_of_terminal(fd_))) {
      close();
      return Arrival::end;
    }
    // Another process may have been faster, where the descriptor does not block.
    if (error != EINTR && error != EAGAIN && error != EWOULDBLOCK) fail(name_, "cannot read", error);
  }
}

void ArrivedBytes::take(std::int64_t bytes) {
  begin_ += bytes;
  if (begin_ < end_) return;
  begin_ = end_ = 0;
  if (static_cast<std::int64_t>(bytes_.size()) > idle_room) std::vector<unsigned char>().swap(bytes_);
}

void ArrivedBytes::make_room(std::int64_t bytes) {
  const auto room = static_cast<std::int64_t>(bytes_.size());
  if (room - end_ >= bytes) return;
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, static_cast<std::size_t>(end_ - begin_));
    end_ -= std::exchange(begin_, 0);
  }
  if (room - end_ < bytes) bytes_.resize(static_cast<std::size_t>(std::max(2 * room, end_ + bytes)));
}

void ArrivedBytes::add(unsigned char byte) {
  make_room(1);
  bytes_[static_cast<std::size_t>(end_++)] = byte;
}

Descriptor::Arrival ArrivedBytes::more(Descriptor& from, const Waiting& waiting) {
  make_room(least_room);
  std::int64_t got = 0;
  const auto arrival =
      from.read(bytes_.data() + end_, static_cast<std::int64_t>(bytes_.size()) - end_, got, waiting);
  end_ += got;
  return arrival;
}

}  // namespace anabranch::io::detail
