#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <anabranch/sink.h>

#include "support/chunk_items.h"

/// A Sink that keeps what it is given, item by item, and looks at the form of each chunk.
namespace anabranch::testing {

/// Which bits a NaN has is no part of the language.
inline ReadArray one_nan(const ArrayInfo& info, ReadArray array) {
  for (std::size_t c = 0; c < info.scalars.size(); ++c)
    detail::with_scalar(info.scalars[c], [&]<class T>(std::type_identity<T>) {
      if constexpr (detail::FloatValue<T>) {
        std::vector<T> values = values_of<T>(array.components[c]);
        for (T& value : values)
          if (value != value) value = std::numeric_limits<T>::quiet_NaN();
        array.components[c] = bytes_of(values);
      }
    });
  return array;
}

class MemorySink : public SinkBase {
 public:
  /// Called with what happens next, "begin", "write", "finish" or "commit", and how often it has happened before: may
  /// throw.
  using Hook = std::function<void(const std::string& what, int before)>;

  MemorySink(std::string name, std::vector<SinkArray> arrays, Hook hook = {}) : hook_(std::move(hook)) {
    info_.name = std::move(name);
    info_.arrays = std::move(arrays);
  }

  const SinkInfo& info() const override { return info_; }
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    call("begin", begun++);
    return std::make_unique<Pass>(*this, start);
  }

  int begun = 0, destroyed = 0, chunks = 0, commits = 0;
  std::vector<ArrayInfo> declared;  ///< of the last pass
  ReadItems items;                  ///< of the last pass that was committed

 private:
  class Pass final : public SinkPass {
   public:
    Pass(MemorySink& sink, const SinkStart& start) : sink_(sink), start_(start) {
      sink_.declared = start.arrays;
    }
    ~Pass() override { ++sink_.destroyed; }
    void write(const SinkChunk& chunk) override {
      sink_.call("write", written_++);
      ++sink_.chunks;
      if (finished_) throw std::logic_error("a chunk after the end");
      if (chunk.items < 1) throw std::logic_error("a chunk without items");
      if (chunk.first != static_cast<std::int64_t>(items_.size()))
        throw std::logic_error("items out of their order");
      if (start_.items && chunk.first + chunk.items > *start_.items) throw std::logic_error("too many items");
      for (std::size_t a = 0; a < start_.arrays.size(); ++a)
        if (!start_.arrays[a].regular() &&
            static_cast<const std::int64_t*>(chunk.arrays.at(a).offsets.get())[0] != 0)
          throw std::logic_error("offsets do not begin with 0");
      for (std::int64_t i = 0; i < chunk.items; ++i) {
        ReadItem& item = items_.emplace_back();
        for (std::size_t a = 0; a < start_.arrays.size(); ++a)
          item.push_back(one_nan(start_.arrays[a], array_at(start_.arrays[a], chunk.arrays.at(a), i)));
      }
    }
    void finish() override {
      sink_.call("finish", 0);
      finished_ = true;
    }
    void commit() override {
      sink_.call("commit", 0);
      if (!finished_) throw std::logic_error("not finished");
      ++sink_.commits;
      sink_.items = std::move(items_);
    }

   private:
    MemorySink& sink_;
    SinkStart start_;
    ReadItems items_;
    int written_ = 0;
    bool finished_ = false;
  };

  void call(const std::string& what, int before) const {
    if (hook_) hook_(what, before);
  }

  SinkInfo info_;
  Hook hook_;
};

/// Takes what it was given in its first run in each later one, and nothing else.
class SameAgainSink final : public MemorySink {
 public:
  using MemorySink::MemorySink;
  std::unique_ptr<SinkPass> begin(const SinkStart& start) override {
    return std::make_unique<Pass>(*this, MemorySink::begin(start));
  }
  /// The next run is the first.
  void forget() { first_.reset(); }

 private:
  class Pass final : public SinkPass {
   public:
    Pass(SameAgainSink& sink, std::unique_ptr<SinkPass> pass) : sink_(sink), pass_(std::move(pass)) {}
    void write(const SinkChunk& chunk) override { pass_->write(chunk); }
    void finish() override { pass_->finish(); }
    void commit() override {
      pass_->commit();
      if (!sink_.first_) sink_.first_ = std::make_unique<ReadItems>(sink_.items);
      if (*sink_.first_ != sink_.items) throw std::logic_error("other items than in the first run");
    }

   private:
    SameAgainSink& sink_;
    std::unique_ptr<SinkPass> pass_;
  };

  std::unique_ptr<ReadItems> first_;
};

/// `arrays`: of the items, each with its scalars and its rank.
template <class Arrays>
std::shared_ptr<SinkBase> same_again_sink(const Arrays& arrays) {
  std::vector<SinkArray> takes;
  for (const auto& array : arrays) takes.push_back({array.scalars, array.rank});
  return std::make_shared<SameAgainSink>("same again", std::move(takes));
}

}  // namespace anabranch::testing
