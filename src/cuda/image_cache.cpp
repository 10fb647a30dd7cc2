#include "cuda/image_cache.h"

#include <charconv>
#include <chrono>
#include <optional>

#include "cache/entry.h"
#include "cache/kernel_cache.h"
#include "cuda/nvrtc.h"

namespace anabranch::cuda {
namespace {

const std::string& fingerprint_of_headers() {
  static const std::string fingerprint = [] {
    std::string all;
    for (const Header& header : headers()) all += header.name + "\n" + header.text;
    return cache::fingerprint(all);
  }();
  return fingerprint;
}

std::string key_of(const Compiler& compiler, const Unit& unit, const std::string& architecture) {
  std::string out =
      "cuda\n" + compiler.settings(architecture) + "\nheaders " + fingerprint_of_headers() + "\nentries";
  for (const std::string& entry : unit.entries) out += " " + entry;
  return out + "\n" + unit.source;
}

/// "<bytes of the log>\n", log, image.
std::string pack(const Compiler::Result& result) {
  return std::to_string(result.log.size()) + "\n" + result.log + result.image;
}

std::optional<Compiler::Result> unpack(const std::string& bytes, const Unit& unit) {
  std::size_t log = 0;
  const char* end = bytes.data() + bytes.size();
  const auto [at, error] = std::from_chars(bytes.data(), end, log);
  if (error != std::errc{} || at == end || log > static_cast<std::size_t>(end - at - 1)) return std::nullopt;
  Compiler::Result out;
  out.log.assign(at + 1, log);
  out.image.assign(at + 1 + log, end);
  out.from_disk = true;
  read_log(out.log, unit.entries, out);
  return out;
}

}  // namespace

Compiler::Result find_or_compile(Compiler& compiler, const Unit& unit, const std::string& name,
                                 const std::string& architecture) {
  const auto start = std::chrono::steady_clock::now();
  const auto cache = cache::kernel_cache();
  if (cache->off()) return compiler.compile(unit, name, architecture);
  const std::string key = key_of(compiler, unit, architecture);
  if (const auto bytes = cache->find(key))
    if (auto found = unpack(*bytes, unit)) {
      found->milliseconds =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      return std::move(*found);
    }
  Compiler::Result compiled = compiler.compile(unit, name, architecture);
  cache->store(key, pack(compiled));
  return compiled;
}

}  // namespace anabranch::cuda
