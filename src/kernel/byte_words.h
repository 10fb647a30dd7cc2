#pragma once

#include "ir/node.h"

/// Numbers that programs put together of bytes, because arrays of text have nothing else.
namespace anabranch::kernel {

/// `node` is a number of which byte k is element i + k of one array of uint8, for all its bytes: or(uint32(a[i]), uint32(a[i + 1]) << 8,
/// ...), in any order. Then the read of a[i]; else null. Such a number lies in memory as it is, on machines whose low bytes come
/// first.
const ir::Node* first_of_byte_word(const ir::Node& node);

}  // namespace anabranch::kernel
