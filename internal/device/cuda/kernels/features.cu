// Kernels of features: the steps of a kernel.Program on a block of rows. Every sum has a
// fixed order, so the features of a row do not depend on the block that it is in.

__device__ inline void store4(float *p, Four<float> v) { *reinterpret_cast<float4 *>(p) = float4{v.x, v.y, v.z, v.w}; }
__device__ inline void store4(double *p, Four<double> v) {
  *reinterpret_cast<double2 *>(p) = double2{v.x, v.y};
  *reinterpret_cast<double2 *>(p + 2) = double2{v.z, v.w};
}

// c[m][n] = factor·(a[m][k]·b[k][n]), or b[n][k]ᵀ if Transposed; times `times` element by
// element, unless that is null, and added to c if add. c and times have the same ld. With
// upper, the right operand is zero below its diagonal. A block of 256 threads computes
// 16·M rows and 16·N columns, a thread M and N of them.
template <class T, int M, int N, bool Transposed>
__device__ void product(const T *a, i64 lda, int m, const T *b, i64 ldb, int n, int k, double by, const T *times, int add, int upper, T *c, i64 ldc) {
  const int K = 16, BM = 16 * M, BN = 16 * N;
  __shared__ __align__(16) T as[2][K][BM + 4], bs[2][K][BN + 4];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  const int depth = upper && col0 + BN < k ? col0 + BN : k;
  const int steps = (depth + K - 1) / K;
  const int PA = BM * K / 4 / 256, PB = BN * K / 4 / 256;  // loads of four numbers by a thread
  const Four<T> none = {0, 0, 0, 0};
  T sum[M][N];
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++) sum[i][j] = 0;
  Four<T> fa[PA], fb[PB];
  auto fetch = [&](int step) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      int e = threadIdx.x + p * 256, at = step * K + e % (K / 4) * 4, row = row0 + e / (K / 4);
      fa[p] = at < k && row < m ? load4(a + (i64)row * lda + at) : none;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      int e = threadIdx.x + p * 256;
      if (Transposed) {
        int at = step * K + e % (K / 4) * 4, col = col0 + e / (K / 4);
        fb[p] = at < k && col < n ? load4(b + (i64)col * ldb + at) : none;
      } else {
        int at = step * K + e / (BN / 4), col = col0 + e % (BN / 4) * 4;
        fb[p] = at < k && col < ldb ? load4(b + (i64)at * ldb + col) : none;
      }
    }
  };
  auto store = [&](int into) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      int e = threadIdx.x + p * 256, q = e % (K / 4) * 4, r = e / (K / 4);
      as[into][q][r] = fa[p].x, as[into][q + 1][r] = fa[p].y, as[into][q + 2][r] = fa[p].z, as[into][q + 3][r] = fa[p].w;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      int e = threadIdx.x + p * 256;
      if (Transposed) {
        int q = e % (K / 4) * 4, r = e / (K / 4);
        bs[into][q][r] = fb[p].x, bs[into][q + 1][r] = fb[p].y, bs[into][q + 2][r] = fb[p].z, bs[into][q + 3][r] = fb[p].w;
      } else {
        store4(&bs[into][e / (BN / 4)][e % (BN / 4) * 4], fb[p]);
      }
    }
  };
  fetch(0);
  store(0);
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    const int now = step % 2;
    if (step + 1 < steps) fetch(step + 1);
#pragma unroll
    for (int q = 0; q < K; q++) {
      T u[M], v[N];
#pragma unroll
      for (int i = 0; i < M; i += 4) {
        Four<T> f = load4(&as[now][q][ty * 4 + i * 16]);
        u[i] = f.x, u[i + 1] = f.y, u[i + 2] = f.z, u[i + 3] = f.w;
      }
#pragma unroll
      for (int j = 0; j < N; j += 4) {
        Four<T> f = load4(&bs[now][q][tx * 4 + j * 16]);
        v[j] = f.x, v[j + 1] = f.y, v[j + 2] = f.z, v[j + 3] = f.w;
      }
#pragma unroll
      for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++) sum[i][j] = mulAdd(u[i], v[j], sum[i][j]);
    }
    if (step + 1 < steps) store(1 - now);
    __syncthreads();
  }
  const T factor = (T)by;
#pragma unroll
  for (int i = 0; i < M; i++) {
    const int row = row0 + ty * 4 + i % 4 + i / 4 * 64;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      const int col = col0 + tx * 4 + j * 16;
      if (col >= ldc) continue;
      const i64 at = (i64)row * ldc + col;
      Four<T> v = {factor * sum[i][j], factor * sum[i][j + 1], factor * sum[i][j + 2], factor * sum[i][j + 3]};
      if (times) {
        Four<T> t = load4(times + at);
        v.x *= t.x, v.y *= t.y, v.z *= t.z, v.w *= t.w;
      }
      if (add) {
        Four<T> t = load4(c + at);
        v.x += t.x, v.y += t.y, v.z += t.z, v.w += t.w;
      }
      store4(c + at, v);
    }
  }
}

#define PRODUCT(name, T, M, N, transposed)                                                                                            \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                                                 \
      name(const T *a, i64 lda, int m, const T *b, i64 ldb, int n, int k, double by, const T *times, int add, int upper, T *c, i64 ldc) { \
    product<T, M, N, transposed>(a, lda, m, b, ldb, n, k, by, times, add, upper, c, ldc);                                              \
  }
PRODUCT(product_f32, float, 8, 8, false)
PRODUCT(product_transposed_f32, float, 8, 8, true)
PRODUCT(product_f64, double, 4, 4, false)
PRODUCT(product_transposed_f64, double, 4, 4, true)

// The kernels below have a row of the block as blockIdx.y, and a column as a thread.

__device__ inline int column() { return blockIdx.x * blockDim.x + threadIdx.x; }

// to[·][at + j] = factor·from[·][j], times scales[j] unless that is null.
template <class T> __device__ void place(const T *from, i64 ldf, int width, double factor, const double *scales, int at, T *to, i64 ldt) {
  const int j = column();
  if (j >= width) return;
  T v = (T)factor * from[(i64)blockIdx.y * ldf + j];
  if (scales) v *= (T)scales[j];
  to[(i64)blockIdx.y * ldt + at + j] = v;
}

extern "C" __global__ void place_f32(const float *from, i64 ldf, int width, double factor, const double *scales, int at, float *to, i64 ldt) { place(from, ldf, width, factor, scales, at, to, ldt); }
extern "C" __global__ void place_f64(const double *from, i64 ldf, int width, double factor, const double *scales, int at, double *to, i64 ldt) { place(from, ldf, width, factor, scales, at, to, ldt); }

// Writes a number to a column of all rows; a thread has a row.
template <class T> __device__ void fillColumn(T *to, i64 ld, int rows, int at, double v) {
  if (column() < rows) to[column() * ld + at] = (T)v;
}

extern "C" __global__ void fill_column_f32(float *to, i64 ld, int rows, int at, double v) { fillColumn(to, ld, rows, at, v); }
extern "C" __global__ void fill_column_f64(double *to, i64 ld, int rows, int at, double v) { fillColumn(to, ld, rows, at, v); }

// The value and the slope of an activation, numbered as in features.go. The first three are
// computed in T, as on the CPU, the others in float64.
template <class T> __device__ inline void activation(int kind, T z, T &value, T &slope) {
  if (kind == 0) {  // relu: NaN stays NaN
    value = z <= 0 ? (T)0 : z;
    slope = z > 0 ? (T)1 : (T)0;
    return;
  }
  if (kind == 1) {  // silu
    T s = (T)1 / ((T)1 + exp(-z));
    value = z * s;
    slope = s + value * ((T)1 - s);
    return;
  }
  if (kind == 2) {  // tanh
    value = tanh(z);
    slope = (T)1 - value * value;
    return;
  }
  const double x = z, e = exp(-fabs(x));
  const double logistic = x < 0 ? e / (1 + e) : 1 / (1 + e);
  double y, s;
  switch (kind) {
    case 3: {  // gelu
      double below = 0.5 * erfc(-x / 1.4142135623730951);
      y = x * below, s = below + x * exp(-x * x / 2) / 2.5066282746310002;
      break;
    }
    case 4: {  // selu
      const double alpha = 1.6732632423543772, lambda = 1.0507009873554805;
      y = x > 0 ? lambda * x : lambda * alpha * expm1(x), s = x > 0 ? lambda : lambda * alpha * exp(x);
      break;
    }
    case 5:  // elu
      y = x > 0 ? x : expm1(x), s = x > 0 ? 1 : exp(x);
      break;
    case 6:  // leaky-relu
      y = x > 0 ? x : 0.01 * x, s = x > 0 ? 1 : 0.01;
      break;
    case 7:  // softplus
      y = fmax(x, 0.0) + log1p(e), s = logistic;
      break;
    default:  // sigmoid
      y = logistic, s = e / ((1 + e) * (1 + e));
  }
  value = (T)y, slope = (T)s;
}

template <class T> __device__ void activate(int kind, const T *from, i64 ldf, int width, double factor, T *to, i64 ldt, T *slopes) {
  const int j = column();
  if (j >= width) return;
  T value, slope;
  activation(kind, from[(i64)blockIdx.y * ldf + j], value, slope);
  to[(i64)blockIdx.y * ldt + j] = (T)factor * value;
  if (slopes) slopes[(i64)blockIdx.y * ldf + j] = slope;
}

extern "C" __global__ void activate_f32(int kind, const float *from, i64 ldf, int width, double factor, float *to, i64 ldt, float *slopes) { activate(kind, from, ldf, width, factor, to, ldt, slopes); }
extern "C" __global__ void activate_f64(int kind, const double *from, i64 ldf, int width, double factor, double *to, i64 ldt, double *slopes) { activate(kind, from, ldf, width, factor, to, ldt, slopes); }

// to[·][i·right + j] = left[·][i]·right[·][j].
template <class T> __device__ void outer(const T *left, i64 ldl, const T *right, i64 ldr, int many, int width, T *to, i64 ldt) {
  const int at = column();
  if (at < width) to[(i64)blockIdx.y * ldt + at] = left[(i64)blockIdx.y * ldl + at / many] * right[(i64)blockIdx.y * ldr + at % many];
}

extern "C" __global__ void outer_f32(const float *left, i64 ldl, const float *right, i64 ldr, int many, int width, float *to, i64 ldt) { outer(left, ldl, right, ldr, many, width, to, ldt); }
extern "C" __global__ void outer_f64(const double *left, i64 ldl, const double *right, i64 ldr, int many, int width, double *to, i64 ldt) { outer(left, ldl, right, ldr, many, width, to, ldt); }

extern "C" __global__ void convert_to_f64(const float *from, i64 ld, int width, double *to) {
  if (column() < width) to[(i64)blockIdx.y * ld + column()] = (double)from[(i64)blockIdx.y * ld + column()];
}
extern "C" __global__ void convert_to_f32(const double *from, i64 ld, int width, float *to) {
  if (column() < width) to[(i64)blockIdx.y * ld + column()] = (float)from[(i64)blockIdx.y * ld + column()];
}

// log·log(1 + rate·κ) + linear·κ + offset − slope·v², with κ = |ψ|²: a block has a row.
extern "C" __global__ void __launch_bounds__(256) likelihood_f64(const double *v, i64 ldv, int width, const double *psi, i64 ldp, double log, double rate, double linear, double offset, double slope, double *to) {
  __shared__ double parts[256 / kWarp];
  double square = 0;
  for (i64 k = threadIdx.x; k < ldp; k += blockDim.x) {
    double x = psi[(i64)blockIdx.y * ldp + k];
    square = fma(x, x, square);
  }
  square = warpSum(square);
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = square;
  __syncthreads();
  double kappa = 0;
  for (int w = 0; w < 256 / kWarp; w++) kappa += parts[w];
  const double constant = log * log1p(rate * kappa) + linear * kappa + offset;
  for (int j = threadIdx.x; j < width; j += blockDim.x) {
    double x = v[(i64)blockIdx.y * ldv + j];
    to[(i64)blockIdx.y * ldv + j] = constant - slope * x * x;
  }
}
