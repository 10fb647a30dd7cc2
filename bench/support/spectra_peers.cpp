#include "spectra_peers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace anabranch::bench {

struct SpectraInLoops::Step {
  std::int64_t radix, m, done;
  std::vector<float> re, im;  ///< exp(-2 pi i p c / (radix m)) at c m + p
};

SpectraInLoops::SpectraInLoops(std::int64_t length, std::span<const float> window, float rate,
                               const Bands& bands)
    : length_(length), window_(window), bin_(rate / static_cast<float>(length)), bands_(bands) {
  const std::int64_t half = length / 2;
  const auto size = static_cast<std::size_t>(half);
  for (auto* all : {&re_, &im_, &next_re_, &next_im_}) all->resize(size);
  for (auto* all : {&turn_re_, &turn_im_, &power_, &magnitude_}) all->resize(size + 1);
  const auto root = [](std::int64_t j, std::int64_t n, float& re, float& im) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(j % n) / static_cast<double>(n);
    re = static_cast<float>(std::cos(angle));
    im = static_cast<float>(std::sin(angle));
  };
  for (std::int64_t k = 0; k <= half; ++k)
    root(k, length, turn_re_[static_cast<std::size_t>(k)], turn_im_[static_cast<std::size_t>(k)]);
  for (std::int64_t done = 1; done < half;) {
    const std::int64_t radix = half / done % 4 == 0 ? 4 : 2, m = half / done / radix;
    Step step{radix, m, done, std::vector<float>(static_cast<std::size_t>(radix * m)), {}};
    step.im = step.re;
    for (std::int64_t c = 0; c < radix; ++c)
      for (std::int64_t p = 0; p < m; ++p)
        root(p * c, radix * m, step.re[static_cast<std::size_t>(c * m + p)],
             step.im[static_cast<std::size_t>(c * m + p)]);
    steps_.push_back(std::move(step));
    done *= radix;
  }
}
SpectraInLoops::~SpectraInLoops() = default;

namespace {

/// y[p, c, q] = w(p c) * sum of x[k, p, q] i^(-k c), for one (p, q).
inline void butterfly(const float* __restrict xr, const float* __restrict xi, float* __restrict yr,
                      float* __restrict yi, const float* __restrict wr, const float* __restrict wi,
                      std::int64_t p, std::int64_t q, std::int64_t m, std::int64_t done) {
  const std::int64_t at = p * done + q, apart = m * done, to = 4 * p * done + q;
  const float ar = xr[at], ai = xi[at], br = xr[at + apart], bi = xi[at + apart];
  const float cr = xr[at + 2 * apart], ci = xi[at + 2 * apart], dr = xr[at + 3 * apart],
              di = xi[at + 3 * apart];
  const float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
  const float gr = br + dr, gi = bi + di, hr = bi - di, hi = dr - br;  // h: (b - d) times -i
  const auto put = [&](std::int64_t c, float re, float im) {
    const float u = wr[c * m + p], v = wi[c * m + p];
    yr[to + c * done] = re * u - im * v;
    yi[to + c * done] = re * v + im * u;
  };
  yr[to] = er + gr;
  yi[to] = ei + gi;
  put(1, fr + hr, fi + hi);
  put(2, er - gr, ei - gi);
  put(3, fr - hr, fi - hi);
}

}  // namespace

void SpectraInLoops::transform() {
  for (const Step& s : steps_) {
    const float *xr = re_.data(), *xi = im_.data(), *wr = s.re.data(), *wi = s.im.data();
    float *yr = next_re_.data(), *yi = next_im_.data();
    if (s.radix == 2) {  // the last one: m is 1
#pragma GCC ivdep
      for (std::int64_t q = 0; q < s.done; ++q) {
        yr[q] = xr[q] + xr[q + s.done], yi[q] = xi[q] + xi[q + s.done];
        yr[q + s.done] = xr[q] - xr[q + s.done], yi[q + s.done] = xi[q] - xi[q + s.done];
      }
    } else if (s.done == 1) {
#pragma GCC ivdep
      for (std::int64_t p = 0; p < s.m; ++p) butterfly(xr, xi, yr, yi, wr, wi, p, 0, s.m, 1);
    } else if (s.done == 4) {
      for (std::int64_t p = 0; p < s.m; ++p)
#pragma GCC ivdep
        for (std::int64_t q = 0; q < 4; ++q) butterfly(xr, xi, yr, yi, wr, wi, p, q, s.m, 4);
    } else {
      for (std::int64_t p = 0; p < s.m; ++p)
#pragma GCC ivdep
        for (std::int64_t q = 0; q < s.done; ++q) butterfly(xr, xi, yr, yi, wr, wi, p, q, s.m, s.done);
    }
    re_.swap(next_re_);
    im_.swap(next_im_);
  }
}

SpectralFeatures SpectraInLoops::of(const float* x, float* bands) {
  SpectralFeatures f;
  const std::int64_t n = length_, half = n / 2;
  float squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
  f.rms = std::sqrt(squares / static_cast<float>(n));
  int crossings = 0;
  for (std::int64_t i = 1; i < n; ++i) crossings += (x[i] < -1e-10F) != (x[i - 1] < -1e-10F);
  f.zero_crossing_rate = static_cast<float>(crossings) / static_cast<float>(n);

  float *re = re_.data(), *im = im_.data();
  const float* w = window_.data();
  for (std::int64_t i = 0; i < half; ++i) re[i] = x[2 * i] * w[2 * i], im[i] = x[2 * i + 1] * w[2 * i + 1];
  transform();
  re = re_.data(), im = im_.data();
  float *power = power_.data(), *magnitude = magnitude_.data();
  const float *tr = turn_re_.data(), *ti = turn_im_.data();
  const auto put = [&](std::int64_t k, std::int64_t here, std::int64_t mirror) {
    const float sr = re[here] + re[mirror], si = im[here] - im[mirror];
    const float dr = im[here] + im[mirror], di = re[mirror] - re[here];  // the difference, times -i
    const float a = sr + dr * tr[k] - di * ti[k], b = si + dr * ti[k] + di * tr[k];
    power[k] = 0.25F * (a * a + b * b);
  };
  put(0, 0, 0);
#pragma GCC ivdep
  for (std::int64_t k = 1; k < half; ++k) put(k, k, half - k);
  put(half, 0, 0);

  float all = 0, moment = 0, logarithms = 0, powers = 0;
  for (std::int64_t k = 0; k <= half; ++k) {
    magnitude[k] = std::sqrt(power[k]);
    all += magnitude[k];
    moment += magnitude[k] * static_cast<float>(k);
    const float floored = std::max(power[k], 1e-10F);
    logarithms += std::log(floored);
    powers += floored;
  }
  const auto bins = static_cast<float>(half + 1);
  f.centroid = all > 0 ? moment / all * bin_ : 0;
  f.flatness = std::exp(logarithms / bins) / (powers / bins);
  const float enough = 0.85F * all;
  std::int64_t below = 0;
  for (float sum = 0; below < half && (sum += magnitude[below]) < enough;) ++below;
  f.rolloff = static_cast<float>(below) * bin_;
  for (std::int64_t m = 0; m < bands_.count; ++m) {
    const float *from = power + bands_.begins[static_cast<std::size_t>(m)],
                *weights = bands_.weights.data() + m * bands_.width;
    float sum = 0;
    for (std::int64_t j = 0; j < bands_.width; ++j) sum += weights[j] * from[j];
    bands[m] = sum;
  }
  return f;
}

}  // namespace anabranch::bench
