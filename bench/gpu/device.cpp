#include "gpu/device.h"

#include <cuda_runtime_api.h>

#include <stdexcept>

namespace anabranch::bench {
namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

cudaStream_t stream() { return static_cast<cudaStream_t>(bench_stream()); }

class Event {
 public:
  Event() { check(cudaEventCreate(&handle_), "making an event"); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() const { check(cudaEventRecord(handle_, stream()), "recording an event"); }
  double seconds_since(const Event& begin) const {
    check(cudaEventSynchronize(handle_), "waiting for an event");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "reading the GPU's clock");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace

std::string device_name() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cannot use a GPU");
  return properties.name;
}
void device_wait() { check(cudaDeviceSynchronize(), "waiting for the GPU"); }

StreamHandle bench_stream() {
  static const cudaStream_t made = [] {
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "making a stream");
    return s;
  }();
  return made;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  void* at = nullptr;
  check(cudaMalloc(&at, bytes + 256), "allocating on the GPU");
  at_ = std::shared_ptr<void>(at, [](void* p) { cudaFree(p); });
}
void DeviceBuffer::upload(const void* from, std::size_t bytes, std::size_t at) const {
  check(cudaMemcpy(data<std::byte>() + at, from, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
}
void DeviceBuffer::download(void* to, std::size_t bytes) const {
  check(cudaMemcpy(to, at_.get(), bytes, cudaMemcpyDeviceToHost), "copying from the GPU");
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* at = nullptr;
  check(cudaMallocHost(&at, bytes), "allocating pinned memory");
  at_ = std::shared_ptr<void>(at, [](void* p) { cudaFreeHost(p); });
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "copying on the GPU");
}
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "copying to the GPU");
}

double device_seconds(const std::function<void()>& enqueue) {
  const Event begin, end;
  begin.record();
  enqueue();
  end.record();
  return end.seconds_since(begin);
}

Graph::Graph(const std::function<void()>& enqueue) {
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "recording a graph");
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream(), &graph);  // or the stream stays unusable
    if (graph) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream(), &graph), "recording a graph");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiateWithFlags(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "making a graph");
  executable_ = std::shared_ptr<void>(executable,
                                      [](void* p) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(p)); });
}
void Graph::operator()() const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_.get()), stream()), "starting a graph");
}

}  // namespace anabranch::bench
