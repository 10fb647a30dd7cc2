#include "cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace anabranch::cuda {
namespace {

using Program = void*;

/// The functions that we use; nvrtcResult is an int, 0 is success.
struct NvrtcApi {
  const char* (*get_error_string)(int result) = nullptr;
  int (*version)(int* major, int* minor) = nullptr;
  int (*get_num_supported_archs)(int* count) = nullptr;
  int (*get_supported_archs)(int* architectures) = nullptr;
  int (*create_program)(Program* program, const char* source, const char* name, int headers,
                        const char* const* texts, const char* const* names) = nullptr;
  int (*destroy_program)(Program* program) = nullptr;
  int (*compile_program)(Program program, int options, const char* const* texts) = nullptr;
  int (*get_cubin_size)(Program program, std::size_t* size) = nullptr;
  int (*get_cubin)(Program program, char* to) = nullptr;
  int (*get_ptx_size)(Program program, std::size_t* size) = nullptr;
  int (*get_ptx)(Program program, char* to) = nullptr;
  int (*get_program_log_size)(Program program, std::size_t* size) = nullptr;
  int (*get_program_log)(Program program, char* to) = nullptr;
};

class Nvrtc final : public Compiler {
 public:
  /// `as_ptx`: whatever the GPU.
  Nvrtc(void* library, const std::string& path, bool as_ptx = false) : as_ptx_(as_ptx) {
    const auto find = [&]<class F>(F*& member, const char* symbol) {
      member = reinterpret_cast<F*>(::dlsym(library, symbol));
      if (!member)
        throw BackendUnavailable("cuda: " + path + " lacks " + symbol + ": NVRTC 12.0 or newer is needed");
    };
    find(api_.get_error_string, "nvrtcGetErrorString");
    find(api_.version, "nvrtcVersion");
    find(api_.get_num_supported_archs, "nvrtcGetNumSupportedArchs");
    find(api_.get_supported_archs, "nvrtcGetSupportedArchs");
    find(api_.create_program, "nvrtcCreateProgram");
    find(api_.destroy_program, "nvrtcDestroyProgram");
    find(api_.compile_program, "nvrtcCompileProgram");
    find(api_.get_cubin_size, "nvrtcGetCUBINSize");
    find(api_.get_cubin, "nvrtcGetCUBIN");
    find(api_.get_ptx_size, "nvrtcGetPTXSize");
    find(api_.get_ptx, "nvrtcGetPTX");
    find(api_.get_program_log_size, "nvrtcGetProgramLogSize");
    find(api_.get_program_log, "nvrtcGetProgramLog");
    if (api_.version(&major_, &minor_) != 0) throw BackendUnavailable("cuda: " + path + " does not answer");
    if (major_ < 12)
      throw BackendUnavailable("cuda: " + path + " is NVRTC " + version() + ": 12.0 or newer is needed");
    int count = 0;
    if (api_.get_num_supported_archs(&count) == 0) {
      architectures_.resize(static_cast<std::size_t>(count));
      if (count > 0 && api_.get_supported_archs(architectures_.data()) != 0) architectures_.clear();
    }
    std::sort(architectures_.begin(), architectures_.end());
    open_builtins();
  }

  Result compile(const Unit& unit, const std::string& name, const std::string& architecture) override;
  std::string version() const override {
    return std::to_string(major_) + "." + std::to_string(minor_) + (as_ptx_ ? " (PTX)" : "");
  }
  std::string settings(const std::string& architecture) const override;

 private:
  /// NVRTC opens a second library, by its bare name: of a folder that the loader does not know it is opened beforehand, from
  /// beside the first.
  void open_builtins() const {
    Dl_info where{};
    if (::dladdr(reinterpret_cast<void*>(api_.version), &where) == 0 || where.dli_fname == nullptr) return;
    const std::filesystem::path name = fmt::format("libnvrtc-builtins.so.{}.{}", major_, minor_);
    static_cast<void>(::dlopen((std::filesystem::path(where.dli_fname).parent_path() / name).c_str(),
                               RTLD_NOW | RTLD_LOCAL));
  }

  std::string fetch(Program program, int (*size)(Program, std::size_t*), int (*get)(Program, char*)) const {
    std::size_t bytes = 0;
    std::string out;
    if (size(program, &bytes) != 0) return out;
    out.resize(bytes);
    if (bytes > 0 && get(program, out.data()) != 0) out.clear();
    return out;
  }
  struct Target {
    std::vector<std::string> options;
    bool ptx = false;
  };
  Target target_of(const std::string& architecture) const;
  /// `target`: what code is made for. Code for a lower minor number runs as it is; a GPU of a newer
  /// generation than the compiler's gets PTX, which its driver translates.
  bool needs_ptx(const std::string& architecture, std::string& target) const;

  NvrtcApi api_;
  bool as_ptx_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

bool Nvrtc::needs_ptx(const std::string& architecture, std::string& target) const {
  target = architecture;
  int number = 0;
  if (architecture.starts_with("sm_"))
    std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  const auto above = std::upper_bound(architectures_.begin(), architectures_.end(), number);
  if (architectures_.empty()) {
    if (as_ptx_) target = "compute_" + std::to_string(number);
    return as_ptx_;
  }
  if (above == architectures_.begin())
    throw BackendUnavailable("cuda: NVRTC " + version() + " does not compile for " + architecture +
                             ": the oldest GPUs that it knows are sm_" + std::to_string(architectures_[0]));
  const int known = *std::prev(above);
  const bool ptx = as_ptx_ || known / 10 != number / 10;
  target = (ptx ? "compute_" : "sm_") + std::to_string(known);
  return ptx;
}

Nvrtc::Target Nvrtc::target_of(const std::string& architecture) const {
  Target out;
  std::string name;
  out.ptx = needs_ptx(architecture, name);
  out.options = {"--gpu-architecture=" + name,
                 "-fmad=false",
                 "-ftz=false",
                 "-prec-div=true",
                 "-prec-sqrt=true",
                 "-std=c++20",
                 "--diag-suppress=186"};  // programs may compare a uint8 with 0
  if (!out.ptx) out.options.emplace_back("--ptxas-options=-v");
  // For profilers. Options are part of an image's key on disk.
  if (const char* lines = std::getenv("ANABRANCH_LINEINFO"); lines && *lines && *lines != '0')
    out.options.emplace_back("-lineinfo");
  return out;
}

std::string Nvrtc::settings(const std::string& architecture) const {
  std::string out = "NVRTC " + version();
  for (const std::string& option : target_of(architecture).options) out += " " + option;
  return out;
}

Compiler::Result Nvrtc::compile(const Unit& unit, const std::string& name, const std::string& architecture) {
  const auto start = std::chrono::steady_clock::now();
  const Target target = target_of(architecture);
  std::vector<const char*> names, texts, options;
  for (const Header& h : headers()) {
    names.push_back(h.name.c_str());
    texts.push_back(h.text.c_str());
  }
  struct Holder {
    const NvrtcApi& api;
    Program program = nullptr;
    ~Holder() {
      if (program) api.destroy_program(&program);
    }
  } holder{api_};
  const auto failed = [&](const char* what, int result) {
    return InternalError("cuda: " + name + ": " + what + ": " + api_.get_error_string(result));
  };
  int result = api_.create_program(&holder.program, unit.source.c_str(), (name + ".cu").c_str(),
                                   static_cast<int>(names.size()), texts.data(), names.data());
  if (result != 0) throw failed("nvrtcCreateProgram", result);

  for (const std::string& option : target.options) options.push_back(option.c_str());
  result = api_.compile_program(holder.program, static_cast<int>(options.size()), options.data());
  Result out;
  out.log = fetch(holder.program, api_.get_program_log_size, api_.get_program_log);
  while (!out.log.empty() && (out.log.back() == '\0' || out.log.back() == '\n')) out.log.pop_back();
  if (result != 0) {
    auto error = failed("the text does not compile", result);
    throw InternalError(std::string(error.what()) + "\n" + out.log);
  }
  out.image = target.ptx ? fetch(holder.program, api_.get_ptx_size, api_.get_ptx)
                         : fetch(holder.program, api_.get_cubin_size, api_.get_cubin);
  if (out.image.empty()) throw InternalError("cuda: " + name + ": NVRTC gave no code\n" + out.log);
  read_log(out.log, unit.entries, out);
  out.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

/// The number right before `unit` in a line; -1: none.
int number_before(std::string_view line, std::string_view unit) {
  const auto at = line.find(unit);
  if (at == std::string_view::npos) return -1;
  auto begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = -1;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

}  // namespace

void read_log(const std::string& log, const std::vector<std::string>& entries, Compiler::Result& out) {
  out.registers.assign(entries.size(), -1);
  out.spill_bytes.assign(entries.size(), -1);
  std::size_t entry = entries.size();
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line(log.data() + begin, end - begin);
    begin = end + 1;
    if (const auto at = line.find("entry function '"); at != std::string_view::npos) {
      const auto name = line.substr(at + 16, line.find('\'', at + 16) - at - 16);
      entry = static_cast<std::size_t>(std::find(entries.begin(), entries.end(), name) - entries.begin());
    }
    if (entry >= entries.size()) continue;
    if (const int n = number_before(line, " registers"); n >= 0) out.registers[entry] = n;
    const int stores = number_before(line, " bytes spill stores");
    if (stores >= 0) out.spill_bytes[entry] = stores + std::max(number_before(line, " bytes spill loads"), 0);
  }
}

std::vector<std::string> nvrtc_paths(int driver_version) {
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (driver_version > 0 && driver_version < 13000) std::swap(names[0], names[1]);
  std::vector<std::string> folders{""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home && *home) {
      folders.push_back(std::string(home) + "/lib64/");
      folders.push_back(std::string(home) + "/lib/");
    }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> out;
  for (const auto& name : names)
    for (const auto& folder : folders) out.push_back(folder + name);
  return out;
}

std::shared_ptr<Compiler> open_nvrtc(int driver_version) {
  std::string tried;
  for (const auto& path : nvrtc_paths(driver_version)) {
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return std::make_shared<Nvrtc>(library, path);
    const char* reason = ::dlerror();
    tried += (tried.empty() ? "" : "; ") + (reason ? std::string(reason) : path);
  }
  throw BackendUnavailable("cuda: NVRTC (the CUDA run-time compiler) cannot be opened: " + tried);
}

std::vector<std::shared_ptr<Compiler>> other_nvrtcs(const Compiler& first, int driver_version) {
  std::vector<std::shared_ptr<Compiler>> out, as_ptx;
  std::set<std::string> versions;
  for (const auto& path : nvrtc_paths(driver_version)) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    try {
      auto found = std::make_shared<Nvrtc>(library, path);
      if (!versions.insert(found->version()).second) continue;
      as_ptx.push_back(std::make_shared<Nvrtc>(library, path, true));
      if (found->version() != first.version()) out.push_back(std::move(found));
    } catch (const BackendUnavailable&) {
      continue;  // too old
    }
  }
  out.insert(out.end(), as_ptx.begin(), as_ptx.end());
  return out;
}

}  // namespace anabranch::cuda
