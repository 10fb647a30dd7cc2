#include "cpu/processor.h"

#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace anabranch::cpu {
namespace {

/// A leaf of the CPUID instruction and which of its registers eax, ebx, ecx, edx are the same on all cores
/// and at all times. (Leaf 1's ebx, for one, holds the number of the core.)
struct Leaf {
  std::uint32_t leaf, subleaf;
  bool constant[4];
};
constexpr Leaf leaves[] = {
    // The vendor; family, model, stepping and the oldest features; features; kinds of XSAVE.
    {0x0, 0, {false, true, true, true}},
    {0x1, 0, {true, false, true, true}},
    {0x7, 0, {false, true, true, true}},
    {0x7, 1, {true, true, true, true}},
    {0xd, 1, {true, false, false, false}},
    // PTWRITE; key locker; AVX10.
    {0x14, 0, {false, true, false, false}},
    {0x19, 0, {false, true, false, false}},
    {0x24, 0, {false, true, false, false}},
    // Features that AMD came with.
    {0x80000001, 0, {false, false, true, true}},
    {0x80000008, 0, {false, true, false, false}},
};

/// The register states that the operating system saves (XCR0): without them, AVX does not exist.
std::uint64_t saved_states() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

std::int64_t processors() { return std::max<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1); }

/// As the processor describes its caches, level by level: sysconf(3) adds up what the cores of a package have, of which one core
/// uses a part.
Caches read_caches() {
  constexpr std::uint32_t leaves_of_caches[] = {0x4, 0x8000001d};  // Intel's, AMD's
  constexpr unsigned data = 1, unified = 3;
  Caches out;
  for (const std::uint32_t leaf : leaves_of_caches)
    for (std::uint32_t number = 0; number < 16; ++number) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, number, &a, &b, &c, &d)) break;
      const unsigned type = a & 0x1f, level = (a >> 5) & 0x7;
      if (type == 0) break;
      if (type != data && type != unified) continue;
      const std::int64_t line = (b & 0xfff) + 1, partitions = ((b >> 12) & 0x3ff) + 1, ways = (b >> 22) + 1;
      const std::int64_t bytes = ways * partitions * line * (std::int64_t{c} + 1);
      if (level == 2) {
        const std::int64_t sharers = ((a >> 14) & 0xfff) + 1;  // at most: numbers that are kept for threads
        out.of_core = bytes;
        out.of_thread = bytes / std::min(sharers, processors());
      }
      if (level >= 2) out.shared = std::max(out.shared, bytes);
    }
  if (out.of_core <= 0) out.of_core = out.of_thread = std::int64_t{1} << 20;
  if (out.shared <= 0) out.shared = std::int64_t{32} << 20;
  return out;
}

}  // namespace

std::string read_processor_identity() {
  std::string out;
  char number[24];
  for (const Leaf& leaf : leaves) {
    unsigned registers[4] = {};
    __get_cpuid_count(leaf.leaf, leaf.subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
    for (int r = 0; r < 4; ++r) {
      if (!leaf.constant[r]) continue;
      std::snprintf(number, sizeof number, "%x ", registers[r]);
      out += number;
    }
  }
  std::snprintf(number, sizeof number, "%llx", static_cast<unsigned long long>(saved_states()));
  return out + number;
}

const std::string& processor_identity() {
  static const std::string identity = read_processor_identity();
  return identity;
}

const Caches& caches() {
  static const Caches found = read_caches();
  return found;
}

}  // namespace anabranch::cpu
