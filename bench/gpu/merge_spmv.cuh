#pragma once

/// Merge-based sparse matrix times vector: D. Merrill, M. Garland, "Merge-based Parallel Sparse Matrix-Vector
/// Multiplication", SC 2016. The ends of rows and the numbers of nonzeros are two sorted lists. Merging them, nonzero k
/// before the end of a row where k is below it, is a path through a grid; all threads take equally long pieces of it, so
/// that they have equally much to do, whatever the lengths of rows. To pass a nonzero is to add a product, to pass the end
/// of a row is to write its sum. What a piece has added of a row that ends in a later one is carried there: within a
/// block by a scan, from block to block by a kernel of its own.
///
/// Three kernels, one after the other: find_starts, multiply_tile, add_carried. Nothing else is needed, so that the tests
/// run this text on the host.
namespace anabranch::bench::merge {

constexpr int threads = 128;
/// Of the path, a thread: odd, so that threads read different banks of shared memory.
constexpr int items = 7;
constexpr int tile = threads * items;
constexpr int warps = threads / 32;

/// A point of the path: what has been passed.
struct Place {
  int row, nonzero;
};

template <class T>
struct Product {
  int rows, nonzeros;  ///< together less than 2^31 - tile
  const int *offsets, *columns;
  const T *values, *x;
  T* y;
  Place* starts;  ///< of each tile, and the end
  T* carried;     ///< of each tile: its part of the row in which it ends

  __host__ __device__ int length() const { return rows + nonzeros; }
  __host__ __device__ int tiles() const { return (length() + tile - 1) / tile; }
};

/// Where the path has passed `diagonal` row ends and nonzeros.
__device__ inline Place place_on(int diagonal, const int* ends, int rows, int nonzeros) {
  int low = diagonal > nonzeros ? diagonal - nonzeros : 0;
  int high = diagonal < rows ? diagonal : rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (ends[middle] <= diagonal - middle - 1)
      low = middle + 1;
    else
      high = middle;
  }
  return {low, diagonal - low};
}

/// A thread a tile, and one for the end.
template <class T>
__device__ void find_starts(const Product<T>& p) {
  const int number = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (number > p.tiles()) return;
  const int diagonal = number * tile < p.length() ? number * tile : p.length();
  p.starts[number] = place_on(diagonal, p.offsets + 1, p.rows, p.nonzeros);
}

/// What this thread and those before it in the block have added of the row in which this one ends. Rows of threads rise,
/// so those of one row are neighbours.
template <class T>
__device__ T added_so_far(int row, T sum) {
  __shared__ int last_row[warps];
  __shared__ T last_sum[warps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other_row = __shfl_up_sync(0xffffffffu, row, distance);
    const T other_sum = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance && other_row == row) sum += other_sum;
  }
  if (lane == 31) {
    last_row[warp] = row;
    last_sum[warp] = sum;
  }
  __syncthreads();
  for (int before = 0; before < warp; ++before)
    if (last_row[before] == row) sum += last_sum[before];
  return sum;
}

/// All products of a tile. Without branches, so that a thread has all of its reads under way: beyond the last nonzero that
/// one is read once more.
template <class T>
__device__ void multiply(const Product<T>& p, int begin, int nonzeros, T* products) {
  int columns[items];
  T values[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const int k = static_cast<int>(threadIdx.x) + i * threads;
    const int at = begin + (k < nonzeros ? k : nonzeros - 1);
    columns[i] = __ldg(p.columns + at);
    values[i] = __ldg(p.values + at);
  }
#pragma unroll
  for (int i = 0; i < items; ++i) values[i] *= __ldg(p.x + columns[i]);
#pragma unroll
  for (int i = 0; i < items; ++i) products[static_cast<int>(threadIdx.x) + i * threads] = values[i];
}

/// A block of `threads` threads a tile. Writes the rows that end in it, without what earlier tiles carry there.
template <class T>
__device__ void multiply_tile(const Product<T>& p) {
  __shared__ T products[tile];
  __shared__ int ends[tile + 1];  // from the tile's first nonzero on
  __shared__ T added[threads];
  const int thread = static_cast<int>(threadIdx.x);
  const Place begin = p.starts[blockIdx.x], end = p.starts[blockIdx.x + 1];
  const int rows = end.row - begin.row, nonzeros = end.nonzero - begin.nonzero;
  if (nonzeros > 0) multiply(p, begin.nonzero, nonzeros, products);
#pragma unroll
  for (int i = 0; i < items; ++i)
    if (const int r = thread + i * threads; r < rows)
      ends[r] = __ldg(p.offsets + begin.row + r + 1) - begin.nonzero;
  if (thread == 0) ends[rows] = nonzeros;  // of the row that ends in a later tile: beyond what is here
  __syncthreads();

  const int from = thread * items < rows + nonzeros ? thread * items : rows + nonzeros;
  Place at = place_on(from, ends, rows, nonzeros);
  const int first_row = at.row;
  T sum = 0, of_first_row = 0;
#pragma unroll
  for (int i = 0; i < items; ++i) {
    if (from + i >= rows + nonzeros) continue;
    if (at.nonzero < ends[at.row]) {
      sum += products[at.nonzero++];
      continue;
    }
    if (at.row == first_row)
      of_first_row = sum;  // to which earlier threads may have added
    else
      p.y[begin.row + at.row] = sum;
    sum = 0;
    ++at.row;
  }

  added[thread] = added_so_far(at.row, sum);
  __syncthreads();
  // The thread before ended in the row in which this one began.
  if (at.row > first_row) p.y[begin.row + first_row] = of_first_row + (thread > 0 ? added[thread - 1] : T(0));
  if (thread == threads - 1) p.carried[blockIdx.x] = added[thread];
}

/// A thread a tile.
template <class T>
__device__ void add_carried(const Product<T>& p) {
  const int number = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (number >= p.tiles()) return;
  const int row = p.starts[number + 1].row;
  if (row < p.rows && p.carried[number] != 0) atomicAdd(p.y + row, p.carried[number]);
}

}  // namespace anabranch::bench::merge
