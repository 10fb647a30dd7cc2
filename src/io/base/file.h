#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Files as src/io sees them: read at a position, written at a position,
/// always exactly as many bytes as asked. Reading is by pread and never by mapping:
/// a failing read of a mapped file is a SIGBUS, not an error.
namespace anabranch::io::detail {

/// Something that can be read at any position: a file, or bytes in memory (tests, fuzzers).
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  virtual const std::string& name() const = 0;
  virtual std::int64_t size() const = 0;  ///< as it was when opened
  /// Exactly `bytes` bytes. DataError where the file ends earlier, IoError where the system refuses.
  virtual void read(std::int64_t offset, void* into, std::int64_t bytes) const = 0;
  /// A hint that this range is read next.
  virtual void prefetch(std::int64_t, std::int64_t) const {}
  /// For files without a checksum, after the last read: DataError if the file was written to since it was
  /// opened, as far as its size and time tell.
  virtual void check_unchanged() const {}
};

std::shared_ptr<ReadFile> memory_file(std::string name, std::vector<unsigned char> bytes);

/// An open file descriptor, closed with its last owner.
class File final : public ReadFile {
 public:
  /// An existing regular file. IoError if it is missing, unreadable, a directory, pipe or device, or has
  /// bytes although its size is 0.
  static std::shared_ptr<File> open(const std::string& path);
  /// A new file; null if there is one already.
  static std::shared_ptr<File> create(const std::string& path, const std::string& name, mode_t mode = 0666);
  /// A new file in the folder of this path that has no name yet (see `link_as`), so that nothing of it stays when the process is
  /// killed; null where the system has no such files, or fails: `create` says how.
  static std::shared_ptr<File> create_nameless(const std::string& path, const std::string& name, mode_t mode);
  /// The folder that `path` lies in, to `sync` it; null where we may write to it, but not read it.
  static std::shared_ptr<File> folder_of(const std::string& path);
  /// `directory`, or where it is empty $TMPDIR, else /var/tmp, else /tmp: the latter may be kept in memory.
  static std::string spool_folder(const std::string& directory);
  /// A nameless file in that folder, which disappears when closed, also when the process is killed.
  static std::shared_ptr<File> spool(const std::string& directory, std::string name);

  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, void* into, std::int64_t bytes) const override;
  void prefetch(std::int64_t offset, std::int64_t bytes) const override;
  void check_unchanged() const override;

  void write(std::int64_t offset, const void* from, std::int64_t bytes);
  /// Gives it the permissions of the file at `path`, whose status is `was`: owner, group, mode, access
  /// control list. Where the system refuses the group or the list, the group gets the others' permissions.
  void take_permissions(const std::string& path, const struct stat& was);
  /// Gives one without a name this name. False where it cannot, and then errno: EEXIST if there is a file of that name.
  bool link_as(const std::string& path);
  /// Waits until all that was written is on the disk.
  void sync();
  /// Gives the space of this range back, where the file system can; its bytes are undefined afterwards.
  void discard(std::int64_t offset, std::int64_t bytes);
  /// A hint that this range is complete: it may go to the disk while others are written.
  void start_writing_back(std::int64_t offset, std::int64_t bytes);
  /// Free bytes on the file system it lies on.
  std::int64_t free_space() const;
  /// Closes now, so that a late write error is seen.
  void close();

 private:
  explicit File(std::string name) : name_(std::move(name)) {}
  /// One without a descriptor yet, so that nothing can fail between opening the file and owning it.
  static std::shared_ptr<File> closed(std::string name) {
    return std::shared_ptr<File>(new File(std::move(name)));
  }

  static bool can_name_later(const std::string& path);
  /// Whatever its size is.
  bool has_bytes() const;

  int fd_ = -1;
  std::string name_;
  std::int64_t size_ = 0;
  timespec modified_{};
};

/// Sequential writing through a buffer, from a position on.
class BufferedWriter {
 public:
  explicit BufferedWriter(std::shared_ptr<File> file, std::int64_t begin = 0,
                          std::int64_t capacity = 1 << 20);

  void append(const void* from, std::int64_t bytes);
  void flush();
  std::int64_t position() const { return written_ + used_; }
  const std::shared_ptr<File>& file() const { return file_; }

 private:
  std::shared_ptr<File> file_;
  std::vector<unsigned char> buffer_;
  void write(const void* from, std::int64_t bytes);

  std::int64_t written_;
  std::int64_t written_back_;
  std::int64_t used_ = 0;
};

/// Where a path leads: symbolic links are followed, also when the last one names a file that is not there.
std::string followed(const std::string& path);

/// An output file that appears whole or not at all: written in its folder without a name, put in place by `commit`. It is on
/// the disk before it appears, and when `commit` returns its name is, too. Once it is complete, and from the beginning where the
/// system has no files without a name, it has another one until it is in place, under which the destructor removes it, and a
/// process that is killed leaves it.
///
/// A symbolic link stays: the file it names is replaced, or made where it names none. A file that is replaced
/// leaves its permissions to the new one, and its owner and group where the system lets us.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::shared_ptr<File>& file() const { return file_; }
  const std::string& path() const { return path_; }
  /// Throws RunError after commit, IoError after `guarded` has failed.
  void check_open() const;
  /// Calls f, which writes, or writes and commits. Where it throws, nobody knows what is in the file: it cannot be gone
  /// on with.
  template <class F>
  void guarded(F&& f) {
    check_open();
    failed_ = true;
    f();
    failed_ = false;
  }
  /// Brings it to the disk as it is, and gives it another name beside its place: what may fail has been done then.
  void complete();
  /// Puts it in place, and completes it before unless that has been done.
  void commit();
  /// The same, but what was there before stays beside it until this is destroyed, for `undo`. Where the file system can
  /// neither exchange names nor make hard links it does not stay.
  void commit_for_now();
  /// Takes back what `commit_for_now` did, be it that it threw. Nothing else is done, or said.
  void undo() noexcept;

 private:
  enum class Before { nothing, kept, lost };

  void put_in_place();
  void is_in_place();
  bool exchange();
  void keep_what_is_there();
  bool has_no_links(int error) const;

  struct Temporary {
    std::string path;  ///< empty: there is none
    ~Temporary();
  };

  std::string path_;
  std::string place_;             ///< the same, from the root
  std::shared_ptr<File> folder_;  ///< null where we may not open it
  Temporary temporary_;
  std::shared_ptr<File> file_;
  Before before_ = Before::lost;  ///< what was in place before
  Temporary kept_;
  bool complete_ = false, in_place_ = false, committed_ = false, failed_ = false;
};

}  // namespace anabranch::io::detail
