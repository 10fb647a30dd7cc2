#include "gpu/device.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/device.h"

namespace anabranch::bench {
namespace {

/// Its context becomes the calling thread's.
std::shared_ptr<cuda::Device> device() {
  auto opened = cuda::Device::get();
  opened->make_current();
  return opened;
}

StreamHandle make_stream() {
  StreamHandle made = nullptr;
  const auto on = device();
  cuda::check(on->api(), on->api().stream_create(&made, cuda::stream_non_blocking), "making a stream");
  return made;
}

/// What goes down while something goes up.
StreamHandle second_stream() {
  static const StreamHandle made = make_stream();
  return made;
}

/// Functions of the driver that the library does not use. Throws where the library's driver is another one.
class Driver {
 public:
  using Graph = void*;
  int (*memcpy_dtod_async)(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                           StreamHandle stream) = nullptr;
  int (*begin_capture)(StreamHandle stream, int mode) = nullptr;
  int (*end_capture)(StreamHandle stream, Graph* graph) = nullptr;
  int (*graph_destroy)(Graph graph) = nullptr;
  int (*graph_instantiate)(Graph* executable, Graph graph, unsigned long long flags) = nullptr;
  int (*graph_exec_destroy)(Graph executable) = nullptr;
  int (*graph_launch)(Graph executable, StreamHandle stream) = nullptr;
  int (*blocks_per_multiprocessor)(int* blocks, void* function, int threads,
                                   std::size_t shared_bytes) = nullptr;

  static bool is_real() {
    static const bool real = [] {
      void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
      return library && ::dlsym(library, "cuLaunchKernel") ==
                            reinterpret_cast<void*>(cuda::Device::get()->api().launch_kernel);
    }();
    return real;
  }
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

 private:
  Driver() {
    if (!is_real()) throw std::runtime_error("not on a simulated GPU");
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&]<class F>(F*& member, const char* name) {
      member = reinterpret_cast<F*>(::dlsym(library, name));
      if (!member) throw std::runtime_error(std::string("the driver has no ") + name);
    };
    find(memcpy_dtod_async, "cuMemcpyDtoDAsync_v2");
    find(begin_capture, "cuStreamBeginCapture_v2");
    find(end_capture, "cuStreamEndCapture");
    find(graph_destroy, "cuGraphDestroy");
    find(graph_instantiate, "cuGraphInstantiateWithFlags");
    find(graph_exec_destroy, "cuGraphExecDestroy");
    find(graph_launch, "cuGraphLaunch");
    find(blocks_per_multiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  }
};

void wait_for(StreamHandle stream) {
  const auto on = device();
  cuda::DeviceEvent done(on);
  cuda::check(on->api(), on->api().event_record(done, stream), "waiting for the GPU");
  done.synchronize();
}

cuda::DevicePointer pointer(const void* at) { return reinterpret_cast<cuda::DevicePointer>(at); }

}  // namespace

std::string device_name() { return device()->facts().name; }
void device_wait() { wait_for(bench_stream()); }

StreamHandle bench_stream() {
  static const StreamHandle made = make_stream();
  return made;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  const auto on = device();
  cuda::DevicePointer at = 0;
  cuda::check(on->api(), on->api().mem_alloc(&at, bytes + 256), "allocating on the GPU");
  at_ = std::shared_ptr<void>(reinterpret_cast<void*>(at),
                              [on](void* p) { static_cast<void>(on->api().mem_free(pointer(p))); });
}
void DeviceBuffer::upload(const void* from, std::size_t bytes, std::size_t at) const {
  copy_to_device(data<std::byte>() + at, from, bytes);
  wait_for(bench_stream());
}
void DeviceBuffer::download(void* to, std::size_t bytes) const {
  const auto on = device();
  cuda::check(on->api(), on->api().memcpy_dtoh_async(to, address(), bytes, bench_stream()),
              "copying from the GPU");
  wait_for(bench_stream());
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  const auto on = device();
  void* at = nullptr;
  cuda::check(on->api(), on->api().mem_host_alloc(&at, bytes, cuda::host_alloc_portable),
              "allocating page-locked memory");
  at_ = std::shared_ptr<void>(at, [on](void* p) { static_cast<void>(on->api().mem_free_host(p)); });
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  const auto on = device();
  if (Driver::is_real()) {
    cuda::check(on->api(), Driver::get().memcpy_dtod_async(pointer(to), pointer(from), bytes, bench_stream()),
                "copying on the GPU");
    return;
  }
  // A simulated GPU: by way of the host, so that who uses it can be tried there.
  std::vector<std::byte> between(bytes);
  copy_from_device(between.data(), from, bytes);
  copy_to_device(to, between.data(), bytes);
  wait_for(bench_stream());
}
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  const auto on = device();
  cuda::check(on->api(), on->api().memcpy_htod_async(pointer(to), from, bytes, bench_stream()),
              "copying to the GPU");
}
void copy_from_device(void* to, const void* from, std::size_t bytes) {
  const auto on = device();
  cuda::check(on->api(), on->api().memcpy_dtoh_async(to, pointer(from), bytes, bench_stream()),
              "copying from the GPU");
}

void copy_both_ways(void* to_device, const void* from_host, void* to_host, const void* from_device,
                    std::size_t bytes) {
  const auto on = device();
  const cuda::DriverApi& api = on->api();
  const cuda::DeviceEvent begin(on), end(on);
  cuda::check(api, api.event_record(begin, bench_stream()), "recording an event");
  cuda::check(api, api.stream_wait_event(second_stream(), begin, 0), "waiting for an event");
  cuda::check(api, api.memcpy_dtoh_async(to_host, pointer(from_device), bytes, second_stream()),
              "copying from the GPU");
  cuda::check(api, api.event_record(end, second_stream()), "recording an event");
  copy_to_device(to_device, from_host, bytes);
  cuda::check(api, api.stream_wait_event(bench_stream(), end, 0), "waiting for an event");
}

double device_seconds(const std::function<void()>& enqueue) {
  const auto on = device();
  cuda::DeviceEvent begin(on, true), end(on, true);
  cuda::check(on->api(), on->api().event_record(begin, bench_stream()), "recording an event");
  enqueue();
  cuda::check(on->api(), on->api().event_record(end, bench_stream()), "recording an event");
  end.synchronize();
  return end.milliseconds_since(begin) * 1e-3;
}

double occupancy(void* function, unsigned threads) {
  constexpr int threads_of_multiprocessor = 39;  // an attribute, as cuda.h numbers it
  const Driver& driver = Driver::get();
  const auto on = device();
  int blocks = 0, most = 0;
  cuda::DeviceNumber number = 0;
  cuda::check(on->api(), driver.blocks_per_multiprocessor(&blocks, function, static_cast<int>(threads), 0),
              "asking for blocks on a multiprocessor");
  cuda::check(on->api(), on->api().device_get(&number, 0), "asking for the GPU");
  cuda::check(on->api(), on->api().device_get_attribute(&most, threads_of_multiprocessor, number),
              "asking for threads of a multiprocessor");
  return blocks * static_cast<double>(threads) / most;
}

Graph::Graph(const std::function<void()>& enqueue) {
  constexpr int this_thread = 1;  // of the capture's modes: other threads may do what they like
  const Driver& driver = Driver::get();
  const auto on = device();
  cuda::check(on->api(), driver.begin_capture(bench_stream(), this_thread), "recording a graph");
  Driver::Graph graph = nullptr, executable = nullptr;
  try {
    enqueue();
  } catch (...) {
    driver.end_capture(bench_stream(), &graph);  // or the stream stays unusable
    if (graph) driver.graph_destroy(graph);
    throw;
  }
  cuda::check(on->api(), driver.end_capture(bench_stream(), &graph), "recording a graph");
  const int made = driver.graph_instantiate(&executable, graph, 0);
  driver.graph_destroy(graph);
  cuda::check(on->api(), made, "making a graph");
  executable_ = std::shared_ptr<void>(executable, [on](void* p) { Driver::get().graph_exec_destroy(p); });
}
void Graph::operator()() const {
  const auto on = device();
  cuda::check(on->api(), Driver::get().graph_launch(executable_.get(), bench_stream()), "starting a graph");
}

}  // namespace anabranch::bench
