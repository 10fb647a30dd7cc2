#include "apps/audio/fft.h"

#include "signals.h"

// The fast Fourier transform of `anabranch audio` beside its definition.
namespace anabranch::testing {
namespace {

using Complex = std::complex<float>;

/// How far an element may be from what it is in doubles: some roundings of floats for each doubling of the length.
double tolerance(std::int64_t n, double norm) {
  return 3e-7 * (1 + std::log2(static_cast<double>(n))) * norm;
}

void check_transform(std::int64_t n) {
  INFO(n << " elements");
  Vector<Complex> x(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    x.set(i, Complex(number<float>(2 * at), number<float>(2 * at + 1)));
  }
  std::vector<std::complex<double>> wide;
  for (std::int64_t i = 0; i < n; ++i) wide.emplace_back(x[i]);
  const auto expected = transform_by_hand(wide);
  const Vector<Complex> got = agree(apps::fft(n, use(x)));
  REQUIRE(got.size() == n);
  double worst = 0;
  for (std::int64_t k = 0; k < n; ++k)
    worst = std::max(worst, std::abs(std::complex<double>(got[k]) - expected[static_cast<std::size_t>(k)]));
  CHECK(worst <= tolerance(n, norm_of(wide)));
}

void check_spectrum(std::int64_t n) {
  INFO(n << " samples");
  const Signal samples = signal(n, 1);
  const auto x = use(samples);
  const Vector<float> got = agree(apps::power_spectrum(n, [=](const Exp<std::int64_t>& i) { return x[i]; }));
  const Doubles wide(samples.begin(), samples.end());
  const Doubles expected = magnitudes_by_hand(wide);
  REQUIRE(got.size() == n / 2 + 1);
  double worst = 0;
  for (std::int64_t k = 0; k <= n / 2; ++k)
    worst = std::max(
        worst, std::abs(std::sqrt(static_cast<double>(got[k])) - expected[static_cast<std::size_t>(k)]));
  CHECK(worst <= tolerance(n, norm_of(wide)));
}

}  // namespace

TEST_CASE("fft: steps of every radix") {
  check_transform(8);
  check_transform(128);
}

TEST_CASE("fft: of one number, and up to 512", "[once]") {
  for (const std::int64_t n : {1, 2, 4, 16, 32, 64, 256, 512}) check_transform(n);
}

TEST_CASE("fft: one number among zeros is in every element", "[once]") {
  for (const std::int64_t n : {2, 16, 64, 512}) {
    Vector<Complex> x(n);
    x.set(0, Complex(1, 0));
    const Vector<Complex> got = agree(apps::fft(n, use(x)));
    for (std::int64_t k = 0; k < n; ++k) REQUIRE(got[k] == Complex(1, 0));
  }
}

TEST_CASE("fft: power spectra of real numbers") { check_spectrum(64); }

TEST_CASE("fft: power spectra of two real numbers, and up to 512", "[once]") {
  for (const std::int64_t n : {2, 4, 8, 16, 32, 128, 256, 512}) check_spectrum(n);
}

TEST_CASE("fft: a tone of a whole number of periods is at one frequency", "[once]") {
  constexpr std::int64_t n = 256, periods = 19;
  Signal samples;
  for (std::int64_t i = 0; i < n; ++i)
    samples.push_back(
        static_cast<float>(std::cos(2 * std::numbers::pi * periods * static_cast<double>(i) / n)));
  const auto x = use(samples);
  const Vector<float> got = agree(apps::power_spectrum(n, [=](const Exp<std::int64_t>& i) { return x[i]; }));
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    INFO(k);
    if (k == periods)
      CHECK(std::abs(got[k] - 0.25 * n * n) < 1e-5 * n * n);
    else
      CHECK(got[k] < 1e-9 * n * n);
  }
}

}  // namespace anabranch::testing
