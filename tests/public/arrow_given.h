#pragma once

#include <atomic>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/io/arrow.h>

#include "support/chunk_items.h"

/// Arrow streams made by hand.
namespace anabranch::testing {

/// An array as it is to lie in memory.
struct Given {
  std::string format;
  std::int64_t length = 0;
  std::vector<std::optional<std::string>> buffers;  ///< none: a null pointer
  std::vector<Given> children = {};
  std::int64_t offset = 0, null_count = 0;
  std::string name = "";
  std::vector<Given> dictionary = {};  ///< one, or none
  std::size_t skew = 0;                ///< so many bytes of each buffer come before what it is to hold
};

inline std::atomic<int> alive = 0;  // arrays, schemas and streams that have not been released

template <class T>
struct Holder {
  Given given;
  std::deque<T> children;
  std::vector<T*> pointers;
  std::vector<const void*> buffers;

  static void release(T* released) {
    auto* const holder = static_cast<Holder*>(released->private_data);
    for (T& child : holder->children)
      if (child.release) child.release(&child);
    delete holder;
    released->release = nullptr;
    --alive;
  }
};

template <class T>
Holder<T>* held(const Given& given, void (*make)(const Given&, T&), T& out) {
  auto* const holder = new Holder<T>{given, {}, {}, {}};
  ++alive;
  for (const Given& child : holder->given.children) {
    make(child, holder->children.emplace_back());
    holder->pointers.push_back(&holder->children.back());
  }
  out = {};
  out.n_children = std::ssize(holder->pointers);
  out.children = holder->pointers.data();
  for (const Given& dictionary : holder->given.dictionary) {
    make(dictionary, holder->children.emplace_back());
    out.dictionary = &holder->children.back();
  }
  out.release = &Holder<T>::release;
  out.private_data = holder;
  return holder;
}
inline void make_schema(const Given& given, ArrowSchema& out) {
  auto* const holder = held<ArrowSchema>(given, &make_schema, out);
  out.format = holder->given.format.empty() ? nullptr : holder->given.format.c_str();
  out.name = holder->given.name.c_str();
}
inline void make_array(const Given& given, ArrowArray& out) {
  auto* const holder = held<ArrowArray>(given, &make_array, out);
  for (const auto& buffer : holder->given.buffers)
    holder->buffers.push_back(buffer ? buffer->data() + given.skew : nullptr);
  out.length = given.length;
  out.offset = given.offset;
  out.null_count = given.null_count;
  out.n_buffers = std::ssize(holder->buffers);
  out.buffers = holder->buffers.data();
}

struct StreamState {
  std::vector<Given> batches;
  Given schema;
  std::size_t at = 0;
  int fails_at = -1;
};

inline ArrowArrayStream stream_of(std::vector<Given> batches, int fails_at = -1) {
  ++alive;
  auto* const state = new StreamState{batches, batches.at(0), 0, fails_at};
  ArrowArrayStream out{};
  out.private_data = state;
  out.get_schema = [](ArrowArrayStream* s, ArrowSchema* schema) {
    make_schema(static_cast<StreamState*>(s->private_data)->schema, *schema);
    return 0;
  };
  out.get_next = [](ArrowArrayStream* s, ArrowArray* array) {
    auto& own = *static_cast<StreamState*>(s->private_data);
    *array = {};
    if (static_cast<int>(own.at) == own.fails_at) return EIO;
    if (own.at < own.batches.size()) make_array(own.batches[own.at++], *array);
    return 0;
  };
  out.get_last_error = [](ArrowArrayStream*) -> const char* { return "the server is gone"; };
  out.release = [](ArrowArrayStream* s) {
    delete static_cast<StreamState*>(s->private_data);
    s->release = nullptr;
    --alive;
  };
  return out;
}

template <class T>
Given numbers_of(const std::vector<T>& values, const char* format, std::string name = "") {
  return {.format = format,
          .length = std::ssize(values),
          .buffers = {std::nullopt, bytes_of(values)},
          .name = std::move(name)};
}
template <class P>
Given list_of(const std::vector<P>& offsets, Given child, std::string name = "") {
  return {.format = sizeof(P) == 4 ? "+l" : "+L",
          .length = std::ssize(offsets) - 1,
          .buffers = {std::nullopt, bytes_of(offsets)},
          .children = {std::move(child)},
          .name = std::move(name)};
}
inline Given fixed_of(std::int64_t size, Given child, std::int64_t length, std::string name = "") {
  return {.format = "+w:" + std::to_string(size),
          .length = length,
          .buffers = {std::nullopt},
          .children = {std::move(child)},
          .name = std::move(name)};
}
inline Given struct_of(std::vector<Given> children, std::int64_t length) {
  return {.format = "+s", .length = length, .buffers = {std::nullopt}, .children = std::move(children)};
}
/// `rows` of what is there.
inline Given sliced(Given given, std::int64_t offset, std::int64_t rows) {
  given.offset += offset;
  given.length = rows;
  return given;
}
/// The same in buffers that are aligned to nothing.
inline Given skewed(Given given) {
  given.skew = 17;  // that long, a string is not kept within itself
  for (auto& buffer : given.buffers)
    if (buffer) buffer->insert(0, given.skew, '?');
  return given;
}

}  // namespace anabranch::testing
