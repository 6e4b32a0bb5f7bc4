// Steps that the card does by itself: what the host does with small vectors and matrices otherwise.

// Starts a walk.
extern "C" __global__ void walk_from(Walk *walk, int before) { *walk = {0, 0, before}; }

// Sets the row that kernels of a step add without a walk of more steps.
extern "C" __global__ void walk_to(Walk *walk, i64 row, int before) { *walk = {row, 1, before}; }

// Takes the row of a walk: it is selected now. Its features go to phi, unless that is null. One
// block.
template <class T>
__device__ void takeRow(const Walk *walk, const T *x, i64 ld, double *phi, unsigned char *flags, const T *dist, const int *labels, const double *weights, const Sizes &s) {
  if (ended(walk)) return;
  const i64 row = walk->row;
  if (threadIdx.x == 0) setMark(row, kSelected, flags, dist, labels, weights, s);
  if (phi)
    for (i64 k = threadIdx.x; k < ld; k += blockDim.x) phi[k] = (double)x[row * ld + k];
}

extern "C" __global__ void take_row_f32(const Walk *walk, const float *x, i64 ld, double *phi, unsigned char *flags, const float *dist, const int *labels, const double *weights, Sizes s) { takeRow(walk, x, ld, phi, flags, dist, labels, weights, s); }
extern "C" __global__ void take_row_f64(const Walk *walk, const double *x, i64 ld, double *phi, unsigned char *flags, const double *dist, const int *labels, const double *weights, Sizes s) { takeRow(walk, x, ld, phi, flags, dist, labels, weights, s); }

// Draws a block by its sum, as Weighted of package rng does, and then a row of it. Each step uses
// two numbers from 0 to 1.
template <class T>
__device__ void walkDraw(Walk *walk, const double *values, i64 n, const double *sums, int blocks, const double *us, const T *dist, const int *labels, const Sizes &s, Best *best) {
  if (ended(walk)) return;
  __shared__ int block;
  const double *u = us + 2 * walk->answers;
  if (threadIdx.x == 0) {
    double total = 0;
    for (int i = 0; i < blocks; i++) total += sums[i];
    const double point = u[0] * total;
    block = -1;
    double running = 0;
    for (int i = 0; i < blocks; i++) {
      if (!(sums[i] > 0)) continue;
      running += sums[i];
      block = i;
      if (running > point) break;
    }
    if (!(total > 0 && total - total == 0)) block = -1;
  }
  __syncthreads();
  if (block < 0) {
    if (threadIdx.x == 0) answer(best, walk, {0, -1, 0, -1}, 0, -1, 0, 0);
    return;
  }
  const i64 from = (i64)block * kSumBlock;
  drawRow(values, from + kSumBlock < n ? from + kSumBlock : n, from, u[1], dist, labels, s, best, walk);
}

extern "C" __global__ void __launch_bounds__(1024) walk_draw_f32(Walk *walk, const double *values, i64 n, const double *sums, int blocks, const double *us, const float *dist, const int *labels, Sizes s, Best *best) { walkDraw(walk, values, n, sums, blocks, us, dist, labels, s, best); }
extern "C" __global__ void __launch_bounds__(1024) walk_draw_f64(Walk *walk, const double *values, i64 n, const double *sums, int blocks, const double *us, const double *dist, const int *labels, Sizes s, Best *best) { walkDraw(walk, values, n, sums, blocks, us, dist, labels, s, best); }

// Dot product of vectors of float64, by a warp; every lane has the result.
__device__ inline double warpDot(const double *a, const double *b, i64 ld, int lane) {
  double sum = 0;
  for (i64 k = 0; k < ld; k += kWarp * 4) {
    const Place<double> at = {k, ld, lane};
    dot4(sum, at.of(a), at.of(b));
  }
  return warpSum(sum);
}

// y = A·x, plus a vector unless that is null, for as many vectors as the grid is high: a warp for
// each row of A.
extern "C" __global__ void __launch_bounds__(kPass) times_vector(const Walk *walk, const double *a, i64 ld, int rows, const double *x, double *y, const double *plus) {
  if (ended(walk)) return;
  const int lane = threadIdx.x % kWarp;
  x += blockIdx.y * ld, y += blockIdx.y * ld;
  for (int i = blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; i < rows; i += gridDim.x * (kPass / kWarp)) {
    const double sum = warpDot(a + i * ld, x, ld, lane);
    if (lane == 0) y[i] = plus ? plus[i] + sum : sum;
  }
}

// S = I, minus a product of matrices unless that is null.
extern "C" __global__ void set_covariance(double *s, i64 ld, const double *product) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < ld * ld; i += (i64)gridDim.x * blockDim.x) {
    const double one = i / ld == i % ld ? 1 : 0;
    s[i] = product ? one - product[i] : one;
  }
}

// S = S − w·wᵀ/γ², a warp for each row.
__device__ inline void lowerCovariance(double *row, const double *w, double factor, i64 ld, int lane) {
  for (i64 k = lane; k < ld; k += kWarp) row[k] = fma(-factor, w[k], row[k]);
}

extern "C" __global__ void __launch_bounds__(kPass) lower_covariance(double *s, i64 ld, const double *w) {
  const int lane = threadIdx.x % kWarp;
  for (int i = blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; i < ld; i += gridDim.x * (kPass / kWarp)) lowerCovariance(s + i * ld, w, w[i], ld, lane);
}

// Given w = Sφ, adds the vector w/γ, γ² = σ² + ⟨φ, w⟩, to the steps of MaxDet, and changes S.
extern "C" __global__ void __launch_bounds__(kPass) variance_change(const Walk *walk, double *s, i64 ld, double sigma2, const double *phi, const double *w, double *steps) {
  if (ended(walk)) return;
  const int lane = threadIdx.x % kWarp;
  double *to = steps + newest(walk) * ld;
  for (int i = blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; i < ld; i += gridDim.x * (kPass / kWarp)) {
    const double gamma2 = sigma2 + fmax(warpDot(phi, w, ld, lane), 0.0);
    if (lane == 0) to[i] = w[i] / sqrt(gamma2);
    lowerCovariance(s + i * ld, w, w[i] / gamma2, ld, lane);
  }
}

// Given w = Sψ and m = AMAᵀw, writes the vectors w/γ and p/γ of a step of BAIT (bait.go), and
// changes S.
extern "C" __global__ void __launch_bounds__(kPass) total_change(const Walk *walk, double *s, i64 ld, double sigma2, const double *psi, const double *w, const double *m, double *wp) {
  if (ended(walk)) return;
  const int lane = threadIdx.x % kWarp;
  for (int i = blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; i < ld; i += gridDim.x * (kPass / kWarp)) {
    const double gamma2 = sigma2 + fmax(warpDot(psi, w, ld, lane), 0.0), moment = warpDot(w, m, ld, lane);
    const double q = warpDot(s + i * ld, m, ld, lane), gamma = sqrt(gamma2);
    if (lane == 0) wp[i] = w[i] / gamma, wp[ld + i] = moment / gamma2 * (w[i] / gamma) - 2 / gamma * q;
    lowerCovariance(s + i * ld, w, w[i] / gamma2, ld, lane);
  }
}

// A step of FrankWolfe: v moves towards rφ/‖φ‖ (frankwolfe.go), unless phi is null; then the
// residual u − v and its length. One block.
extern "C" __global__ void __launch_bounds__(256) frank_wolfe_step(const Walk *walk, const double *u, double *v, double r, const double *phi, i64 ld, double *residual, double *length) {
  if (ended(walk)) return;
  double sum = 0;
  if (phi) {
    for (i64 k = threadIdx.x; k < ld; k += 256) sum = fma(phi[k], phi[k], sum);
    const double norm = sqrt(blockSum(sum));
    double square = 0, along = 0;
    for (i64 k = threadIdx.x; k < ld; k += 256) {
      const double way = norm == 0 ? 0 : r / norm * phi[k] - v[k];
      square = fma(way, way, square), along = fma(way, u[k] - v[k], along);
    }
    square = blockSum(square), along = blockSum(along);
    if (square != 0)
      for (i64 k = threadIdx.x; k < ld; k += 256) v[k] = fma(along / square, r / norm * phi[k] - v[k], v[k]);
  }
  sum = 0;
  for (i64 k = threadIdx.x; k < ld; k += 256) {
    residual[k] = u[k] - v[k];
    sum = fma(residual[k], residual[k], sum);
  }
  sum = blockSum(sum);
  if (threadIdx.x == 0) *length = sqrt(sum);
}
