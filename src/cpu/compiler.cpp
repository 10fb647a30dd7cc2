#include "cpu/compiler.h"

#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "cache/kernel_cache.h"
#include "cache/once_per_key.h"
#include "cpu/code_generator.h"
#include "cpu/llvm_interface_version.h"
#include "cpu/processor.h"
#include "system/environment.h"
#include "system/standard_error.h"

namespace anabranch::cpu {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

using Compiled = std::shared_ptr<const CompiledKernel>;

/// The kernels of this process.
class Cache {
 public:
  static Cache& get() {
    static Cache cache;
    return cache;
  }

  template <class Make>
  Compiled find_or_make(const std::string& key, Make&& make, CacheStatistics* counted) {
    const auto [kernel, known] = kernels_.find_or_make(key, make);
    if (counted) count(*counted, *kernel, known);
    const std::lock_guard lock(mutex_);
    count(statistics_, *kernel, known);
    return kernel;
  }

  CacheStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  void opened(double ms) {
    const std::lock_guard lock(mutex_);
    statistics_.open_ms = ms;
  }
  void clear() { kernels_.clear(); }

 private:
  static void count(CacheStatistics& into, const CompiledKernel& kernel, bool known) {
    if (known) {
      ++into.hits;
    } else if (kernel.from_disk) {
      ++into.from_disk;
      into.load_ms += kernel.statistics.total_ms;
    } else {
      ++into.compiled;
      into.compile_ms += kernel.statistics.total_ms;
    }
  }

  static constexpr std::size_t kept = 1024;
  cache::OncePerKey<Compiled> kernels_{kept};
  std::mutex mutex_;  ///< of the statistics
  CacheStatistics statistics_;
};

/// All but the image: facts, and what is compiled later. `find`: finds that.
void complete(CompiledKernel& made, const kernel::Kernel& kernel, CompileOptions options,
              CompiledLater::Find find) {
  options.ir = options.assembly = options.printed = nullptr;
  const auto later = [&](bool CompileOptions::* which) {
    CompileOptions other = options;
    other.*which = true;
    return std::make_shared<CompiledLater>(kernel, std::move(other), find);
  };
  made.cut_facts = cut_facts_of(kernel);
  made.gather_facts = gather_facts_of(kernel);
  if (!options.any_rows && kernel::has_short_rows(kernel))
    made.for_any_rows = later(&CompileOptions::any_rows);
  // Of rows of any length those that fetch are asked for by those of short rows that do.
  if (!options.any_rows && !options.fetches_ahead && made.gather_facts)
    made.that_fetches = later(&CompileOptions::fetches_ahead);
}

/// `image`: receives the image's bytes, where not null.
std::shared_ptr<CompiledKernel> build(const kernel::Kernel& kernel, const CompileOptions& options,
                                      std::string* image = nullptr) {
  const auto start = std::chrono::steady_clock::now();
  auto out = std::make_shared<CompiledKernel>();
  std::string bytes = compile_image(kernel, options, &out->statistics);
  out->image = LoadedImage(std::as_bytes(std::span(bytes)));
  out->statistics.total_ms = milliseconds_since(start);
  if (image) *image = std::move(bytes);
  return out;
}

/// On disk: `key` and all else that an image depends on.
std::string key_on_disk(const std::string& build_id, const std::string& key) {
  const std::string out = "cpu\ninterface " + std::to_string(llvm_interface_version()) + "\ncode generator " +
                          build_id + "\nprocessor " + processor_identity();
  return out + "\n" + key;
}

/// Null: it is not on disk, or not what it should be.
std::shared_ptr<CompiledKernel> find_on_disk(const std::string& key) {
  const auto start = std::chrono::steady_clock::now();
  const auto cache = cache::kernel_cache();
  const std::string build_id = cache->off() ? "" : code_generator_build_id();
  if (build_id.empty()) return nullptr;
  const auto bytes = cache->find(key_on_disk(build_id, key));
  if (!bytes) return nullptr;
  auto out = std::make_shared<CompiledKernel>();
  try {
    out->image = LoadedImage(std::as_bytes(std::span(*bytes)));
  } catch (const InternalError&) {
    return nullptr;
  }
  out->from_disk = true;
  out->statistics.total_ms = milliseconds_since(start);
  return out;
}

std::shared_ptr<CompiledKernel> build_and_print(const kernel::Kernel& kernel, CompileOptions options, bool ir,
                                                bool assembly) {
  std::string texts[2], printed;
  options.ir = ir ? &texts[0] : nullptr;
  options.assembly = assembly ? &texts[1] : nullptr;
  options.printed = &printed;
  auto out = build(kernel, options);
  out->printed = std::move(printed);
  return out;
}

std::shared_ptr<CompiledKernel> find_or_build(const kernel::Kernel& kernel, const CompileOptions& options,
                                              const std::string& key) {
  if (auto found = find_on_disk(key)) return found;
  std::string image;
  auto out = build(kernel, options, &image);
  // Under the id of the library that made it: the one on disk may be a newer one by now.
  if (const std::string& build_id = CodeGenerator::get().build_id; !build_id.empty())
    cache::kernel_cache()->store(key_on_disk(build_id, key), image);
  return out;
}

/// What the code generator gives.
struct Received {
  Received(const std::string& k, const CompileOptions& o) : kernel(k), options(o) {}

  const std::string& kernel;
  const CompileOptions& options;
  std::string image, error;
  CompileStatistics statistics;

  void add(std::string* to, const char* what, std::string_view text) const {
    if (to) *to += text;
    if (!options.printed || text.empty()) return;
    const std::string block = fmt::format("---- {} of {} ----\n{}\n", what, kernel, text);
    system::write_to_standard_error(block);
    *options.printed += block;
  }
};

}  // namespace

std::string compile_image(const kernel::Kernel& kernel, const CompileOptions& options,
                          CompileStatistics* statistics) {
  const CodeGenerator& generator = CodeGenerator::get();
  Cache::get().opened(generator.open_ms);
  AnabranchLlvmOptions asked{};
  asked.cpu = options.cpu.empty() ? nullptr : options.cpu.c_str();
  asked.features = options.features.empty() ? nullptr : options.features.c_str();
  asked.lanes = options.lanes;
  asked.short_rows = !options.any_rows && kernel::has_short_rows(kernel);
  asked.fetches_ahead = options.fetches_ahead;
  asked.want_ir = options.ir != nullptr;
  asked.want_assembly = options.assembly != nullptr;
  Received received(kernel.name, options);
  AnabranchLlvmSink sink{};
  sink.context = &received;
  sink.image = [](void* to, const void* bytes, std::size_t size) {
    static_cast<Received*>(to)->image.assign(static_cast<const char*>(bytes), size);
  };
  sink.ir = [](void* to, const char* text, std::size_t size) {
    const auto& texts = *static_cast<Received*>(to);
    texts.add(texts.options.ir, "llvm", {text, size});
  };
  sink.assembly = [](void* to, const char* text, std::size_t size) {
    const auto& texts = *static_cast<Received*>(to);
    texts.add(texts.options.assembly, "asm", {text, size});
  };
  sink.error = [](void* to, int, const char* text) { static_cast<Received*>(to)->error = text; };
  sink.statistics = [](void* to, double emit, double optimise, double generate, double, std::uint64_t n) {
    static_cast<Received*>(to)->statistics = {emit, optimise, generate, 0, n};
  };
  const int failed = generator.compile(&kernel, &asked, &sink);
  if (failed == anabranch_llvm_unavailable) throw BackendUnavailable(received.error);
  if (failed == anabranch_llvm_no_memory)
    throw ResourceError(
        kernel.name + ": the code generator ran out of memory, and can compile nothing more in this process");
  if (failed) throw InternalError(kernel.name + ": " + received.error);
  if (statistics) *statistics = received.statistics;
  return std::move(received.image);
}

namespace {

/// From the cache of this process, or of the disk, or compiled.
Compiled find_or_compile(const kernel::Kernel& kernel, const CompileOptions& options,
                         CacheStatistics* counted) {
  const std::string key = std::to_string(options.lanes) + " " + options.cpu +
                          (options.any_rows ? " any rows" : "") +
                          (options.fetches_ahead ? " fetches ahead" : "") + "\n" + kernel::key_of(kernel);
  const bool ir = system::listed("ANABRANCH_DUMP", "llvm"),
             assembly = system::listed("ANABRANCH_DUMP", "asm");
  const auto with_later = [&](const std::shared_ptr<CompiledKernel>& made) {
    complete(*made, kernel, options, find_or_compile);
    return made;
  };
  if (!ir && !assembly)
    return Cache::get().find_or_make(
        key, [&] { return with_later(find_or_build(kernel, options, key)); }, counted);
  bool printed = false;
  const auto build_now = [&] {
    printed = true;
    return with_later(build_and_print(kernel, options, ir, assembly));
  };
  const auto compiled = Cache::get().find_or_make(
      std::string(ir ? "llvm " : "") + (assembly ? "asm " : "") + key, build_now, counted);
  if (!printed) system::write_to_standard_error(compiled->printed);
  return compiled;
}

/// In no cache.
Compiled compile_anew(const kernel::Kernel& kernel, const CompileOptions& options, CacheStatistics*) {
  auto out = build(kernel, options);
  complete(*out, kernel, options, compile_anew);
  return out;
}

}  // namespace

std::shared_ptr<const CompiledKernel> compile(const kernel::Kernel& kernel, const CompileOptions& options,
                                              CacheStatistics* counted) {
  if (options.ir || options.assembly || !options.cpu.empty()) return compile_anew(kernel, options, counted);
  CompileOptions here = options;
  if (system::listed("ANABRANCH_OFF", "avx512")) here.cpu = "haswell";
  return find_or_compile(kernel, here, counted);
}

const CompiledKernel& CompiledLater::get(CacheStatistics* counted) {
  if (const CompiledKernel* compiled = known()) return *compiled;
  const std::lock_guard lock(mutex_);
  if (!compiled_) compiled_ = find_(kernel_, options_, counted);
  known_.store(compiled_.get(), std::memory_order_release);
  return *compiled_;
}

CacheStatistics cache_statistics() { return Cache::get().statistics(); }
void clear_cache() { Cache::get().clear(); }
std::string machine_description() { return CodeGenerator::get().machine(); }
std::string code_generator_path() { return CodeGenerator::get().path; }

}  // namespace anabranch::cpu
