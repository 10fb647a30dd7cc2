#pragma once

#include <string>

/// The linker's fingerprint of all that it put into a library or program (a GNU build id), as hexadecimal
/// digits; empty where there is none.
namespace anabranch::cpu {

/// Read from the file, without loading it.
std::string build_id_of_file(const std::string& path);
/// Of the loaded object that this address belongs to.
std::string build_id_of_object_at(const void* address);

}  // namespace anabranch::cpu
