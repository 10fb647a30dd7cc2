#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace anabranch::cpu {

/// Turns a relocatable x86-64 ELF object into a kernel image (cpu/abi.h): code and constants laid out in one
/// blob, references between them resolved. Entry i is the symbol "entry<i>". Throws InternalError naming the
/// symbol or the kind of relocation if the object needs anything from outside or from its load address.
std::vector<std::byte> link_image(std::span<const std::byte> object, int entries);

}  // namespace anabranch::cpu
