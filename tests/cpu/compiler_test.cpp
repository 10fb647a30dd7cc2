#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cpu/llvm_interface_version.h"
#include "cpu/pieces.h"
#include "support/catch.h"
#include "support/own_kernel_cache.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

KernelBuilder scaled(double factor, std::int64_t n = 100) {
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(n);
  const ir::Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent},
                            k.buffer(std::vector<double>(static_cast<std::size_t>(n), 2.0)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, n);
  k.kernel().body = {
      ir::primitive(Primitive::multiply, {ir::index(a, k.kernel().index[0], {}, true), ir::literal(factor)})};
  k.find_checks();
  return k;
}

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

}  // namespace

TEST_CASE("equal kernels of different programs are compiled once, by whichever thread comes first") {
  const anabranch::testing::OwnKernelCache with_nothing_in_it;
  cpu::clear_cache();
  const auto before = cpu::cache_statistics();
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  std::vector<std::shared_ptr<const cpu::CompiledKernel>> got(8);
  for (std::size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] {
      auto mine = scaled(17.25);
      ++ready;
      while (ready < 8) std::this_thread::yield();
      got[t] = cpu::compile(mine.kernel());
    });
  for (auto& thread : threads) thread.join();
  for (const auto& kernel : got) CHECK(kernel == got[0]);
  const auto after = cpu::cache_statistics();
  CHECK(after.compiled - before.compiled == 1);
  CHECK(after.hits - before.hits == 7);
  CHECK(cpu::compile(scaled(17.5).kernel()) != got[0]);
}

TEST_CASE("an image is refused unless it is whole and of this ABI") {
  auto k = scaled(3.0);
  const std::string image = cpu::compile_image(k.kernel(), {});
  REQUIRE_NOTHROW(cpu::LoadedImage(bytes_of(image)));
  CHECK_THROWS_AS(cpu::LoadedImage(bytes_of(image.substr(0, 10))), InternalError);
  CHECK_THROWS_AS(cpu::LoadedImage(bytes_of(image.substr(0, image.size() - 1))), InternalError);
  std::string other = image;
  other[0] = 'X';
  CHECK_THROWS_WITH(cpu::LoadedImage(bytes_of(other)), Catch::Contains("not an image"));
  other = image;
  other[8] = 77;
  CHECK_THROWS_WITH(cpu::LoadedImage(bytes_of(other)), Catch::Contains("ABI 77"));
  cpu::ImageHeader header;
  std::memcpy(&header, image.data(), sizeof header);
  header.entry[0] = header.blob_bytes;
  other = image;
  std::memcpy(other.data(), &header, sizeof header);
  CHECK_THROWS_AS(cpu::LoadedImage(bytes_of(other)), InternalError);
}

TEST_CASE("a loaded image works after a move and without its bytes") {
  auto k = scaled(4.0, 3);
  cpu::CompiledKernel compiled;
  {
    const std::string image = cpu::compile_image(k.kernel(), {});
    cpu::LoadedImage first(bytes_of(image));
    compiled.image = std::move(first);
    CHECK(first.entries() == 0);
  }
  cpu::launch(k.kernel(), compiled, k.bindings(), cpu::one_by_one);
  CHECK(static_cast<double*>(k.data(k.kernel().outputs[0].array.first_buffer))[2] == 8.0);
}

TEST_CASE("texts are given when asked for") {
  auto k = scaled(5.0);
  cpu::CompileOptions options;
  std::string ir, assembly;
  options.ir = &ir;
  options.assembly = &assembly;
  cpu::compile(k.kernel(), options);
  CHECK(ir.find("define") != std::string::npos);
  CHECK(assembly.find("vmulpd") != std::string::npos);
}

TEST_CASE("a kernel the generator cannot make sense of is an internal error with its name") {
  auto k = scaled(5.0);
  k.kernel().name = "strange@here.cpp:1";
  const ir::Ref unknown = ir::parameter(ir::Type::array(1, {ScalarType::float64}));
  k.kernel().body = {ir::index(unknown, k.kernel().index[0], {}, true)};
  CHECK_THROWS_WITH(cpu::compile_image(k.kernel(), {}), Catch::Contains("strange@here.cpp:1"));
}

TEST_CASE("pieces cover the domain once and keep rows whole but for long ones") {
  for (const std::int64_t piece : {1, 10, 1000, 5000, 100000}) {
    std::vector<std::int64_t> offsets{7};
    for (const std::int64_t n : {0, 3, 5000, 0, 4096, 4097, 1, 1, 20000, 0, 0, 12})
      offsets.push_back(offsets.back() + n);
    const auto total = static_cast<std::size_t>(offsets.back());
    auto k = spmv(offsets, std::vector<std::int64_t>(total, 0), std::vector<double>(total, 1.0),
                  std::vector<double>{1.0});
    const cpu::Cut cut = cpu::cut(k.kernel(), cpu::cut_facts_of(k.kernel()), k.bindings(), piece);
    std::vector<int> seen(12);
    std::vector<std::vector<int>> blocks(cut.long_rows.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].resize(static_cast<std::size_t>(cut.long_rows[i].blocks));
      ++seen[static_cast<std::size_t>(cut.long_rows[i].row)];
      const auto row = static_cast<std::size_t>(cut.long_rows[i].row);
      CHECK(offsets[row + 1] - offsets[row] > std::max<std::int64_t>(piece, 4096));
    }
    for (const auto& p : cut.pieces)
      for (std::int64_t at = p.begin; at < p.end; ++at) {
        if (p.long_row < 0)
          ++seen[static_cast<std::size_t>(at)];
        else
          ++blocks[static_cast<std::size_t>(p.long_row)][static_cast<std::size_t>(at)];
      }
    CHECK(seen == std::vector<int>(12, 1));
    std::int64_t positions = 0, of_tasks = 0;
    for (const auto& p : cut.pieces) positions += p.end - p.begin;
    for (std::int64_t task = 0; task < cut.tasks; ++task) {
      const cpu::Piece p = cut.of_task(task);
      of_tasks += p.end - p.begin;
      CHECK(p.begin < p.end);
      CHECK((p.long_row < 0 || p.end - p.begin <= std::max<std::int64_t>(piece / 4096, 1)));
      const cpu::Piece before = cut.of_task(std::max<std::int64_t>(task - 1, 0));
      CHECK((task == 0 || p.long_row != before.long_row || p.begin == before.end || p.long_row < 0));
    }
    CHECK(of_tasks == positions);
    for (const auto& b : blocks) CHECK(b == std::vector<int>(b.size(), 1));
    CHECK(disagreement(k, {piece}) == "");
  }
}

TEST_CASE("few elements each of which takes long are shared out, too") {
  const auto tasks = [](int operations, std::int64_t positions) {
    auto k = scaled(5.0, positions);
    k.kernel().operations = operations;
    return cpu::cut(k.kernel(), cpu::cut_facts_of(k.kernel()), k.bindings(), 0).tasks;
  };
  CHECK(tasks(1, 1000) == 1);
  CHECK(tasks(500, 1000) == 8);
  CHECK(tasks(100'000, 1000) == 16);
  CHECK(tasks(100'000, 100) == 2);
  CHECK(tasks(100'000, 1'000'000) >= 900);
}

TEST_CASE("threads change no bit, and the first error is the same on any number of them") {
  const cpu::ParallelFor backwards = [](std::int64_t n, const std::function<void(std::int64_t)>& piece) {
    std::vector<std::thread> threads;
    std::atomic<std::int64_t> next{n};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (std::int64_t i; (i = --next) >= 0;) piece(i);
      });
    for (auto& thread : threads) thread.join();
  };
  std::vector<std::int32_t> offsets{0}, columns;
  for (int row = 0; row < 200; ++row) {
    for (int i = 0; i < (row == 50 ? 30000 : row); ++i) columns.push_back((i * 31 + row) % 1000);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  std::vector<double> values, x;
  for (std::size_t i = 0; i < columns.size(); ++i) values.push_back(1.0 / static_cast<double>(i + 1));
  for (int i = 0; i < 1000; ++i) x.push_back(i * 0.37);
  auto k = spmv(offsets, columns, values, x);
  const auto once = k.run();
  for (const std::int64_t piece : {100, 5000, 50000}) CHECK(k.run({}, piece, backwards) == once);

  columns[20000] = 1234;
  columns[33000] = -5;
  auto broken = spmv(offsets, columns, values, x);
  for (const std::int64_t piece : {100, 5000, 50000}) {
    CHECK_THROWS_WITH(broken.run({}, piece), Catch::Contains("index 1234 out of range 0..999"));
    CHECK_THROWS_WITH(broken.run({}, piece, backwards), Catch::Contains("index 1234 out of range 0..999"));
  }
}

TEST_CASE("a chain of thousands of operations is compiled without recursion over it") {
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(10);
  const ir::Ref a =
      k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(std::vector<double>(10, 1.0)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, 10);
  ir::Ref v = ir::index(a, k.kernel().index[0], {}, true);
  for (int i = 0; i < 2000; ++i)
    v = ir::primitive(i % 3 ? Primitive::add : Primitive::multiply, {v, ir::literal(i * 0.001)});
  k.kernel().body = {v};
  CHECK(disagreement(k, {0}) == "");
}

TEST_CASE("kernels are printed when ANABRANCH_DUMP asks for it, known ones too") {
  auto k = scaled(18.25);
  k.kernel().name = "scaled by 18.25";
  const auto printed = [&](const char* list) {
    std::FILE* file = std::tmpfile();
    REQUIRE(file);
    std::fflush(stderr);
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file), STDERR_FILENO);
    ::setenv("ANABRANCH_DUMP", list, 1);
    cpu::compile(k.kernel());
    ::unsetenv("ANABRANCH_DUMP");
    std::fflush(stderr);
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    std::fclose(file);
    return text;
  };
  CHECK(printed("share,plan,llvmx").empty());
  const std::string ir = printed("plan,llvm");
  CHECK_THAT(ir, Catch::Contains("---- llvm of scaled by 18.25 ----") &&
                     Catch::Contains("; before the passes") && Catch::Contains("; after the passes") &&
                     Catch::Contains("define hidden void @entry0"));
  CHECK_THAT(ir, !Catch::Contains("---- asm"));
  CHECK(printed("llvm") == ir);
  const std::string both = printed("asm,llvm");
  CHECK_THAT(both, Catch::Contains("---- asm of scaled by 18.25 ----") && Catch::Contains("retq") &&
                       Catch::Contains(ir));
}
