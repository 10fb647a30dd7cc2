#include "injector.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

// Nothing here may allocate: it is what allocations come to.

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace faults {
namespace {

/// Whose code an object holds.
enum class Owner : std::uint8_t { ours, library, excepted };

bool named(const char* path, const char* name) {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash ? slash + 1 : path, name, std::strlen(name)) == 0;
}

Owner owner_of(const char* path) {
  for (const char* name : {"libtbb", "libanabranch-llvm", "ld-linux"})
    if (named(path, name)) return Owner::excepted;
  for (const char* name : {"libc.so", "libstdc++", "libgcc_s", "libm.so", "libfmt", "libanabranch_faults"})
    if (named(path, name)) return Owner::library;
  return Owner::ours;
}

Fault fault;

/// The stack as far as it matters: the innermost calls that are not a library's.
struct Stack {
  Owner owner = Owner::library;
  int calls = 0;
  int frames = 0;
  Site site = 1469598103934665603u;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* to) {
  Stack& stack = *static_cast<Stack*>(to);
  if (++stack.frames > 64) return _URC_END_OF_STACK;
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
  dl_find_object object{};
  if (address == 0 || _dl_find_object(reinterpret_cast<void*>(address - 1), &object) != 0)
    return _URC_NO_REASON;
  const char* path = object.dlfo_link_map->l_name;
  const Owner owner = owner_of(path);
  if (owner == Owner::library) return _URC_NO_REASON;
  if (stack.calls == 0) stack.owner = owner;
  ++stack.calls;
  const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  stack.site = (stack.site ^ offset) * 1099511628211u;
  return stack.calls < fault.depth ? _URC_NO_REASON : _URC_END_OF_STACK;
}

Stack stack_here() {
  Stack stack;
  _Unwind_Backtrace(visit, &stack);
  return stack;
}

constexpr int most_sites = 1 << 16;
Site known_sites[most_sites];  // a hash table; 0: free

bool remember(Site site) {
  for (std::size_t at = site % most_sites;; at = (at + 1) % most_sites) {
    if (known_sites[at] == site) return false;
    if (known_sites[at] == 0) {
      known_sites[at] = site;
      return true;
    }
  }
}
bool is_known(Site site) {
  for (std::size_t at = site % most_sites; known_sites[at] != 0; at = (at + 1) % most_sites)
    if (known_sites[at] == site) return true;
  return false;
}

std::atomic<int> armed = 0;  // a Kind
std::atomic<long> left = 0;
std::atomic<Site> failed_at = 0;
std::atomic<long> live = 0;
int record = -1;  // descriptor: where a process that is started armed writes the site

/// Inside ourselves, or where nothing is to be looked at.
[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;
struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

void note(Site site) {
  Site none = 0;
  if (failed_at.compare_exchange_strong(none, site) && record >= 0)
    static_cast<void>(::syscall(SYS_write, record, &site, sizeof site));
}

void begin(const Fault& asked) {
  fault = asked;
  left = asked.call;
  failed_at = 0;
  armed = static_cast<int>(asked.kind);
}

void arm_from_environment() {
  const char* text = ::getenv(variable);
  if (!text) return;
  long numbers[5] = {};
  for (long& number : numbers) {
    char* end = nullptr;
    number = std::strtol(text, &end, 10);
    text = end + (*end == ',');
  }
  record = static_cast<int>(numbers[4]);
  Site site = 0;
  for (off_t at = 0; ::syscall(SYS_pread64, record, &site, sizeof site, at) == sizeof site; at += sizeof site)
    remember(site);
  begin({static_cast<Kind>(numbers[0]), numbers[1], numbers[2] != 0, static_cast<int>(numbers[3])});
}

/// Is this call to fail?
bool fails(Kind kind) {
  if (inside) return false;
  static std::atomic<bool> begun = false;
  if (!begun && environ && !begun.exchange(true)) arm_from_environment();
  if (armed.load(std::memory_order_relaxed) != static_cast<int>(kind)) return false;
  const Inside guard;
  if (failed_at.load() != 0) {
    if (!fault.lasting) return false;
    return stack_here().owner == Owner::ours;
  }
  const Stack stack = stack_here();
  if (stack.owner != Owner::ours) return false;
  if (fault.call < 0) {
    if (is_known(stack.site)) return false;
  } else if (left.fetch_sub(1) != 0) {
    return false;
  }
  note(stack.site);
  return true;
}

bool fails_with(Kind kind, int error) {
  if (!fails(kind)) return false;
  errno = error;
  return true;
}

/// The C library's own function of this name.
template <class F>
F* next(const char* name) {
  const Inside guard;
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

/// For the books on blocks that are alive.
void* counted(void* block) {
  if (block) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace
}  // namespace faults

using faults::counted;
using faults::fails_with;
using faults::Kind;
using faults::next;

#define ANABRANCH_INTERPOSED extern "C" __attribute__((visibility("default")))

ANABRANCH_INTERPOSED void anabranch_faults_arm(const faults::Fault& fault, const faults::Site* known,
                                               int count) {
  std::memset(faults::known_sites, 0, sizeof faults::known_sites);
  for (int i = 0; i < count; ++i) faults::remember(known[i]);
  faults::begin(fault);
}
ANABRANCH_INTERPOSED faults::Site anabranch_faults_disarm() {
  faults::armed = 0;
  return faults::failed_at;
}
ANABRANCH_INTERPOSED void anabranch_faults_pass(bool pass) { faults::inside = pass; }
ANABRANCH_INTERPOSED long anabranch_faults_live_blocks() { return faults::live; }

// --- memory

ANABRANCH_INTERPOSED void* malloc(std::size_t size) {
  return fails_with(Kind::allocation, ENOMEM) ? nullptr : counted(__libc_malloc(size));
}
ANABRANCH_INTERPOSED void* calloc(std::size_t count, std::size_t size) {
  return fails_with(Kind::allocation, ENOMEM) ? nullptr : counted(__libc_calloc(count, size));
}
ANABRANCH_INTERPOSED void* realloc(void* block, std::size_t size) {
  if (fails_with(Kind::allocation, ENOMEM)) return nullptr;
  void* const moved = __libc_realloc(block, size);
  if (!block) counted(moved);
  return moved;
}
ANABRANCH_INTERPOSED void* memalign(std::size_t alignment, std::size_t size) {
  return fails_with(Kind::allocation, ENOMEM) ? nullptr : counted(__libc_memalign(alignment, size));
}
ANABRANCH_INTERPOSED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
ANABRANCH_INTERPOSED int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
ANABRANCH_INTERPOSED void free(void* block) {
  if (block) faults::live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

// --- threads

ANABRANCH_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                        void* (*start)(void*), void* argument) {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  return faults::fails(Kind::thread) ? EAGAIN : real(thread, attributes, start, argument);
}

// --- files

namespace {

mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (fails_with(Kind::open, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

}  // namespace

#define ANABRANCH_OPEN(name)                                        \
  ANABRANCH_INTERPOSED int name(const char* path, int flags, ...) { \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    const mode_t mode = mode_of(flags, arguments);                  \
    va_end(arguments);                                              \
    return open_at(AT_FDCWD, path, flags, mode);                    \
  }
ANABRANCH_OPEN(open)
ANABRANCH_OPEN(open64)
#define ANABRANCH_OPENAT(name)                                                  \
  ANABRANCH_INTERPOSED int name(int folder, const char* path, int flags, ...) { \
    va_list arguments;                                                          \
    va_start(arguments, flags);                                                 \
    const mode_t mode = mode_of(flags, arguments);                              \
    va_end(arguments);                                                          \
    return open_at(folder, path, flags, mode);                                  \
  }
ANABRANCH_OPENAT(openat)
ANABRANCH_OPENAT(openat64)

ANABRANCH_INTERPOSED int mkostemp(char* pattern, int flags) {
  static auto* const real = next<decltype(mkostemp)>("mkostemp");
  return fails_with(Kind::open, EIO) ? -1 : real(pattern, flags);
}
ANABRANCH_INTERPOSED int mkostemp64(char* pattern, int flags) { return mkostemp(pattern, flags); }
ANABRANCH_INTERPOSED FILE* fopen(const char* path, const char* mode) {
  static auto* const real = next<decltype(fopen)>("fopen");
  return fails_with(Kind::open, EIO) ? nullptr : real(path, mode);
}
ANABRANCH_INTERPOSED FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

ANABRANCH_INTERPOSED int fstat(int descriptor, struct stat* status) noexcept {
  return fails_with(Kind::open, EIO) ? -1 : static_cast<int>(::syscall(SYS_fstat, descriptor, status));
}
ANABRANCH_INTERPOSED int fstat64(int descriptor, struct stat64* status) noexcept {
  return fstat(descriptor, reinterpret_cast<struct stat*>(status));
}
ANABRANCH_INTERPOSED int fchmod(int descriptor, mode_t mode) noexcept {
  return fails_with(Kind::open, EIO) ? -1 : static_cast<int>(::syscall(SYS_fchmod, descriptor, mode));
}
ANABRANCH_INTERPOSED int eventfd(unsigned count, int flags) noexcept {
  return fails_with(Kind::open, EMFILE) ? -1 : static_cast<int>(::syscall(SYS_eventfd2, count, flags));
}

ANABRANCH_INTERPOSED ssize_t read(int descriptor, void* into, std::size_t bytes) {
  return fails_with(Kind::read, EIO) ? -1 : ::syscall(SYS_read, descriptor, into, bytes);
}
ANABRANCH_INTERPOSED ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t at) {
  return fails_with(Kind::read, EIO) ? -1 : ::syscall(SYS_pread64, descriptor, into, bytes, at);
}
ANABRANCH_INTERPOSED ssize_t pread64(int descriptor, void* into, std::size_t bytes, off_t at) {
  return pread(descriptor, into, bytes, at);
}
ANABRANCH_INTERPOSED int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  return fails_with(Kind::read, EIO)
             ? -1
             : static_cast<int>(::syscall(SYS_poll, descriptors, count, milliseconds));
}
ANABRANCH_INTERPOSED ssize_t write(int descriptor, const void* from, std::size_t bytes) {
  return fails_with(Kind::write, EIO) ? -1 : ::syscall(SYS_write, descriptor, from, bytes);
}
ANABRANCH_INTERPOSED ssize_t writev(int descriptor, const iovec* parts, int count) {
  return fails_with(Kind::write, EIO) ? -1 : ::syscall(SYS_writev, descriptor, parts, count);
}
ANABRANCH_INTERPOSED ssize_t pwrite(int descriptor, const void* from, std::size_t bytes, off_t at) {
  return fails_with(Kind::write, EIO) ? -1 : ::syscall(SYS_pwrite64, descriptor, from, bytes, at);
}
ANABRANCH_INTERPOSED ssize_t pwrite64(int descriptor, const void* from, std::size_t bytes, off_t at) {
  return pwrite(descriptor, from, bytes, at);
}
ANABRANCH_INTERPOSED int fsync(int descriptor) {
  return fails_with(Kind::sync, EIO) ? -1 : static_cast<int>(::syscall(SYS_fsync, descriptor));
}
ANABRANCH_INTERPOSED int fdatasync(int descriptor) {
  return fails_with(Kind::sync, EIO) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
ANABRANCH_INTERPOSED int rename(const char* from, const char* to) noexcept {
  return fails_with(Kind::rename, EIO) ? -1 : static_cast<int>(::syscall(SYS_rename, from, to));
}
ANABRANCH_INTERPOSED int renameat2(int folder, const char* from, int other_folder, const char* to,
                                   unsigned flags) noexcept {
  return fails_with(Kind::rename, EIO)
             ? -1
             : static_cast<int>(::syscall(SYS_renameat2, folder, from, other_folder, to, flags));
}
ANABRANCH_INTERPOSED int link(const char* file, const char* other_name) noexcept {
  return fails_with(Kind::rename, EIO) ? -1 : static_cast<int>(::syscall(SYS_link, file, other_name));
}
ANABRANCH_INTERPOSED int linkat(int folder, const char* file, int other_folder, const char* other_name,
                                int flags) noexcept {
  return fails_with(Kind::rename, EIO)
             ? -1
             : static_cast<int>(::syscall(SYS_linkat, folder, file, other_folder, other_name, flags));
}
ANABRANCH_INTERPOSED void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                                off_t at) noexcept {
  if (fails_with(Kind::map, ENOMEM)) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, descriptor, at));
}
ANABRANCH_INTERPOSED void* mmap64(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                                  off_t at) noexcept {
  return mmap(address, bytes, protection, flags, descriptor, at);
}
ANABRANCH_INTERPOSED void* mremap(void* address, std::size_t bytes, std::size_t wanted, int flags,
                                  ...) noexcept {
  if (fails_with(Kind::map, ENOMEM)) return MAP_FAILED;
  va_list arguments;
  va_start(arguments, flags);
  void* const place = flags & MREMAP_FIXED ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, address, bytes, wanted, flags, place));
}
