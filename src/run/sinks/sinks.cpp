#include "run/sinks/sinks.h"

#include "run/sinks/elements_sink.h"
#include "run/sinks/fold_sinks.h"
#include "run/sinks/tabulate_sink.h"

namespace anabranch::runtime {

bool needs_extents(ir::SinkOp sink) {
  switch (sink) {
    case ir::Op::elements:
      return false;
    case ir::Op::tabulate:
    case ir::Op::fold_seq:
    case ir::Op::fold_batch:
    case ir::Op::write:
      return true;
  }
  return true;
}

std::unique_ptr<Sink> make_sink(ir::SinkOp sink, const SinkWork& work) {
  switch (sink) {
    case ir::Op::elements:
      return std::make_unique<ElementsSink>(work);
    case ir::Op::tabulate:
      return std::make_unique<TabulateSink>(work);
    case ir::Op::fold_seq:
      return make_fold_seq(work);
    case ir::Op::fold_batch:
      return make_fold_batch(work);
    case ir::Op::write:
      break;  // of several results: write_sink.h
  }
  throw InternalError("a sink that nothing implements");
}

}  // namespace anabranch::runtime
