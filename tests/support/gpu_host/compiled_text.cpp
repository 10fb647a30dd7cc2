#include "support/gpu_host/compiled_text.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cache/entry.h"
#include "support/kept_folder.h"

namespace anabranch::gpu_host {
namespace {

namespace fs = std::filesystem;

std::atomic<int> compiled{0};

std::string quoted(const std::string& s) {
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw HostError("cannot write " + path.string());
}

/// Runs a command of the shell in this folder.
void run(const fs::path& folder, const std::string& command, const char* what) {
  const std::string log = (folder / "log").string();
  if (std::system(("cd " + quoted(folder.string()) + " && " + command + " >log 2>&1").c_str()) != 0)
    throw HostError(std::string(what) + ":\n" + text_of(log).substr(0, 8000));
  fs::remove(log);
}

bool keeps_folders() { return std::getenv("ANABRANCH_GPU_HOST_KEEP") != nullptr; }

/// A temporary folder and what is in it.
struct Folder {
  fs::path path;
  explicit Folder(const fs::path& where = fs::temp_directory_path()) {
    std::string pattern = (where / "anabranch-gpu-host-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw HostError("cannot make a temporary folder");
    path = pattern;
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!keeps_folders()) fs::remove_all(path, ignored);
  }
};

std::string compiler_flags(bool sanitize) {
  // Variables without a value get a strange one, so that reading it shows.
  std::string flags =
      "-std=c++20 -O0 -fPIC -ffp-contract=off -fvisibility=hidden -fno-gnu-unique -Wno-attributes"
      " -ftrivial-auto-var-init=pattern";
  if (sanitize) {
    flags += " -g1 -fsanitize=undefined -fno-sanitize-recover=all";
#if defined(__SANITIZE_ADDRESS__)
    flags += " -fsanitize=address";
#elif defined(__SANITIZE_THREAD__)
    flags += " -fsanitize=thread";
#endif
  }
  return flags;
}

/// What this program links is there already, and reading the libraries would take most of the time.
std::string linker_flags(bool sanitize) {
  return sanitize ? ANABRANCH_GPU_HOST_LINK " -shared" : "-shared -nostdlib";
}

const std::string& shim() {
  static const std::string text = text_of(fs::path(ANABRANCH_GPU_HOST) / "shim.h");
  return text;
}

/// What compiled code depends on beside its text.
std::string toolchain(bool sanitize) {
  return std::string(ANABRANCH_GPU_HOST_CXX " " ANABRANCH_GPU_HOST_CXX_VERSION) + "\n" +
         compiler_flags(sanitize) + "\n" + shim();
}

/// The shim takes most of the time of a small text: it is compiled once for each set of flags, for all
/// processes. The folder holds it and, for the compiler cache, a file that says what it depends on.
fs::path precompiled_shim(bool sanitize) {
  const std::string all = toolchain(sanitize);
  const fs::path folder = fs::path(ANABRANCH_GPU_HOST_BUILD) / ("shim-" + cache::fingerprint(all));
  if (fs::exists(folder)) return folder;
  fs::create_directories(folder.parent_path());
  const Folder made(folder.parent_path());
  write(made.path / "shim.h", shim());
  write(made.path / "shim.h.gch.sum", all);
  run(made.path,
      quoted(ANABRANCH_GPU_HOST_CXX) + " " + compiler_flags(sanitize) +
          " -w -x c++-header shim.h -o shim.h.gch",
      "the shim does not compile");
  std::error_code another_process_was_faster;
  fs::rename(made.path, folder, another_process_was_faster);
  return folder;
}

/// What texts compile to is kept for all checkouts: to find it takes a hundredth of the time that a compiler cache takes,
/// which runs the preprocessor and the linker.
fs::path folder_of_texts() {
  fs::path texts = testing::kept_folder("texts");
  return texts.empty() ? fs::path(ANABRANCH_GPU_HOST_BUILD) / "texts" : texts;
}

/// Where the compiled text is kept for later runs.
fs::path kept_object(const HostText& text) {
  std::string all = toolchain(text.sanitize) + linker_flags(text.sanitize) + '\n' + text.source;
  for (const auto& [name, content] : text.headers) all += '\0' + name + '\0' + content;
  static const fs::path texts = folder_of_texts();
  return texts / (cache::fingerprint(all) + ".so");
}

/// Puts an object there, whole or not at all. Of too many (a few kilobytes each) all go.
void keep(const fs::path& object, const fs::path& as) {
  constexpr std::ptrdiff_t most = 20'000;
  std::error_code ignored;
  fs::create_directories(as.parent_path(), ignored);
  // To count them takes milliseconds: one of sixteen does.
  if (as.filename().string().front() == '0' &&
      std::distance(fs::directory_iterator(as.parent_path(), ignored), {}) >= most)
    for (const auto& old : fs::directory_iterator(as.parent_path(), ignored)) fs::remove(old.path(), ignored);
  const Folder made(as.parent_path().parent_path());
  fs::copy_file(object, made.path / "unit.so", ignored);
  if (!ignored) fs::rename(made.path / "unit.so", as, ignored);
}

/// Compiles and links the text in this folder, to unit.so.
void compile(const HostText& text, const fs::path& folder) {
  write(folder / "unit.cpp", text.source);
  for (const auto& [name, content] : text.headers) {
    fs::create_directories((folder / name).parent_path());
    write(folder / name, content);
  }
  for (const auto& file : fs::directory_iterator(precompiled_shim(text.sanitize)))
    fs::create_symlink(file.path(), folder / file.path().filename());
  const std::string compiler = quoted(ANABRANCH_GPU_HOST_CXX) + " " + compiler_flags(text.sanitize) + " ";
  // All paths are relative to the folder: whatever its name, the compiler cache knows the text.
  run(folder,
      "CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 "
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_"
      "ctime " ANABRANCH_GPU_HOST_LAUNCHER " " +
          compiler + "-fpch-preprocess -include shim.h -I . -c unit.cpp -o unit.o",
      "the text does not compile");
  run(folder, compiler + linker_flags(text.sanitize) + " unit.o -lgcc -o unit.so",
      "the text cannot be linked");
}

}  // namespace

void* open_compiled(const HostText& text) {
  ++compiled;
  const Folder folder;
  const fs::path object = folder.path / "unit.so", kept = kept_object(text);
  // A copy: a library that is opened twice would have its variables once.
  std::error_code not_there;
  if (keeps_folders() || !fs::copy_file(kept, object, not_there)) {
    compile(text, folder.path);
    keep(object, kept);
  }
  void* library = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw HostError(std::string("cannot open the compiled text: ") + ::dlerror());
  return library;
}

int compiled_texts() { return compiled; }

}  // namespace anabranch::gpu_host
