// Kernels of training: networks of one shape, side by side. As in package network, layer l
// takes x̃_l, scaled, to z_l = x̃_l·W_l + σ_b·b_l; the bias is the last row of W̃_l. Rows of
// every matrix have a multiple of four numbers, and those beyond the last column are zero.
//
// Products are those of float32 on tensor cores: a number is the sum of two of 11 binary
// digits, and three of the four products of their parts hold all that float32 can. A sum
// has one order, whatever the tile, so the bits depend neither on the tile nor on the
// networks at the side.

__device__ inline void activate(int function, float z, float &value, float &slope) {
  const float alpha = 1.6732632423543772f, lambda = 1.0507009873554805f;
  switch (function) {
    case 0:  // relu; NaN stays NaN
      value = z != z ? z : fmaxf(z, 0.0f), slope = z > 0 ? 1.0f : 0.0f;
      return;
    case 1: {  // silu
      float e = expf(-fabsf(z)), s = (z < 0 ? e : 1.0f) / (1.0f + e);
      value = z * s, slope = s + z * s * (1.0f - s);
      return;
    }
    case 2:  // tanh
      value = tanhf(z), slope = 1.0f - value * value;
      return;
    case 3: {  // gelu
      float below = 0.5f * erfcf(-z * 0.70710678118654752f);
      value = z * below, slope = below + z * (expf(-0.5f * z * z) * 0.39894228040143268f);
      return;
    }
    case 4:  // selu
      value = z > 0 ? lambda * z : lambda * alpha * expm1f(z), slope = z > 0 ? lambda : lambda * alpha * expf(z);
      return;
    case 5:  // elu
      value = z > 0 ? z : expm1f(z), slope = z > 0 ? 1.0f : expf(z);
      return;
    case 6:  // leaky relu
      value = z > 0 ? z : 0.01f * z, slope = z > 0 ? 1.0f : 0.01f;
      return;
    case 7: {  // softplus
      float e = expf(-fabsf(z));
      value = fmaxf(z, 0.0f) + log1pf(e) + (z - z), slope = (z < 0 ? e : 1.0f) / (1.0f + e);
      return;
    }
    default: {  // sigmoid
      float e = expf(-fabsf(z)), s = 1.0f / (1.0f + e);
      value = z < 0 ? e * s : s, slope = e * s * s;
    }
  }
}

// Tiles are square. Warps are two down and Tile/32, at most 4, across.
template <int Tile> struct Shape {
  static const int across = Tile == 128 ? 4 : 2;
  static const int threads = 2 * across * kWarp;
  static const int rows = Tile / 2, cols = Tile / across;      // of a warp
  static const int m = rows / 16, n = cols / 8;                // its fragments
  static const int stages = Tile == 64 ? 4 : 3;
};

// An operand whose rows run along the sum (a row of the tile is kPitch numbers), or across
// it (a row of the tile is Tile + 8 numbers). rows, unless null, says which rows are meant.
struct Operand {
  const float *at;
  const int *rows;
  int ld;
};

template <int Tile, bool Along> struct Stage {
  static const int size = Along ? Tile * kPitch : kDeep * (Tile + 8);
  static __device__ inline int at(int k, int i) { return Along ? i * kPitch + k : k * (Tile + 8) + i; }
  static __device__ inline void fetch(float *to, const Operand &o, int i0, int end, int k0, int kEnd) {
    const int each = Along ? kDeep / 4 : Tile / 4;
#pragma unroll
    for (int turn = 0; turn < Tile * kDeep / 4 / Shape<Tile>::threads; turn++) {
      const int e = threadIdx.x + turn * Shape<Tile>::threads;
      const int row = e / each, col = e % each * 4;
      const int i = i0 + (Along ? row : col), k = k0 + (Along ? col : row);
      const bool there = i < end && k < kEnd;
      const int r = Along ? i : k;
      const float *from = there ? o.at + ((o.rows ? o.rows[r] : r) * o.ld + (Along ? k : i)) : o.at;
      copyAsync(to + (Along ? row * kPitch + col : row * (Tile + 8) + col), from, there);
    }
  }
};

// v = hi + lo. The tensor cores take the first 11 binary digits of lo's 13. NaN stays NaN,
// and so does what is infinite.
__device__ inline void split(float v, unsigned &hi, unsigned &lo) {
  hi = __float_as_uint(v) & 0xffffe000u;
  lo = __float_as_uint(v - __uint_as_float(hi));
}

__device__ inline void mma(float *sum, const unsigned *a, const unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// multiply computes a tile of a·b, m rows, n columns and k terms in all, and calls
// end(row, column, v) for every four adjacent columns. With Sums it returns, for thread i,
// the sum of column i of b's tile.
template <int Tile, bool AlongA, bool AlongB, bool Sums, class End>
__device__ inline float multiply(const Operand &a, const Operand &b, int row0, int col0, int m, int n, int k, End end) {
  typedef Shape<Tile> S;
  typedef Stage<Tile, AlongA> A;
  typedef Stage<Tile, AlongB> B;
  extern __shared__ float tiles[];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, g = lane / 4, t = lane % 4;
  const int wr = warp / S::across * S::rows, wc = warp % S::across * S::cols;
  const bool live = row0 + wr < m && col0 + wc < n;  // other warps only load
  float sum[S::m][S::n][4] = {};
  float column = 0;
  const int steps = (k + kDeep - 1) / kDeep;
  auto fetch = [&](int step, int stage) {
    if (step < steps) {
      float *to = tiles + stage * (A::size + B::size);
      A::fetch(to, a, row0, m, step * kDeep, k);
      B::fetch(to + A::size, b, col0, n, step * kDeep, k);
    }
    asm volatile("cp.async.commit_group;");
  };
#pragma unroll
  for (int step = 0; step < S::stages - 1; step++) fetch(step, step);
  int stage = 0;
  for (int step = 0; step < steps; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(S::stages - 2));
    __syncthreads();
    fetch(step + S::stages - 1, stage == 0 ? S::stages - 1 : stage - 1);
    const float *as = tiles + stage * (A::size + B::size), *bs = as + A::size;
    stage = stage == S::stages - 1 ? 0 : stage + 1;
    if (Sums && row0 == 0 && threadIdx.x < Tile) {
#pragma unroll 8
      for (int i = 0; i < kDeep; i++) column += bs[B::at(i, threadIdx.x)];
    }
    if (!live) continue;
    as += A::at(t, wr + g);
    bs += B::at(t, wc + g);
#pragma unroll
    for (int d = 0; d < kDeep; d += 8) {
      unsigned bh[S::n][2], bl[S::n][2];
#pragma unroll
      for (int j = 0; j < S::n; j++) {
        split(bs[B::at(d, j * 8)], bh[j][0], bl[j][0]);
        split(bs[B::at(d + 4, j * 8)], bh[j][1], bl[j][1]);
      }
#pragma unroll
      for (int i = 0; i < S::m; i++) {
        unsigned ah[4], al[4];
        split(as[A::at(d, i * 16)], ah[0], al[0]);
        split(as[A::at(d, i * 16 + 8)], ah[1], al[1]);
        split(as[A::at(d + 4, i * 16)], ah[2], al[2]);
        split(as[A::at(d + 4, i * 16 + 8)], ah[3], al[3]);
#pragma unroll
        for (int j = 0; j < S::n; j++) mma(sum[i][j], al, bh[j]);
#pragma unroll
        for (int j = 0; j < S::n; j++) mma(sum[i][j], ah, bl[j]);
#pragma unroll
        for (int j = 0; j < S::n; j++) mma(sum[i][j], ah, bh[j]);
      }
    }
  }
  // The end goes through shared memory: whole rows of the tile, in little code.
  const int pitch = Tile + 4;
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
#pragma unroll
  for (int i = 0; i < S::m; i++)
#pragma unroll
    for (int j = 0; j < S::n; j++) {
      float *to = tiles + (wr + i * 16 + g) * pitch + wc + j * 8 + 2 * t;
      *reinterpret_cast<float2 *>(to) = float2{sum[i][j][0], sum[i][j][1]};
      *reinterpret_cast<float2 *>(to + 8 * pitch) = float2{sum[i][j][2], sum[i][j][3]};
    }
  __syncthreads();
#pragma unroll 2
  for (int e = threadIdx.x; e < Tile * Tile / 4; e += S::threads) {
    const int row = e / (Tile / 4), col = e % (Tile / 4) * 4;
    if (row0 + row < m && col0 + col < n) end(row0 + row, col0 + col, *reinterpret_cast<float4 *>(tiles + row * pitch + col));
  }
  return column;
}

__device__ inline float4 four(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ inline void four(float *p, float4 v) { *reinterpret_cast<float4 *>(p) = v; }

// What a layer of networks that lie side by side is: the strides lead from a network to the
// next one.
struct Layer {
  const float *in;      // x̃, rows x ldIn
  const int *rows;      // which rows of in are meant; null: all
  float *out;           // the next layer's x̃; null for the last layer
  float *slope;         // φ'; null if it follows from out
  float *grad;          // g, rows x ldOut
  float *below;         // g of the layer below; null for the first layer
  const float *slopeBelow;  // φ' of the layer below; null if it follows from in
  i64 inStride, rowsStride, outStride, gradStride, belowStride;
  i64 offset;           // of W̃ among the parameters
  int inputs, outputs, ldIn, ldOut;
  float scale, next;    // σ_w/√d of this layer and of the next one
};

struct Parameters {
  float *weights, *first, *second;
  i64 stride;
};

// hidden computes hidden layers: a grid of tiles for each network.
template <int Tile> __device__ inline void hidden(const Layer &l, const Parameters &p, int n, int function, float sigmaB) {
  const i64 net = blockIdx.y;
  const float *w = p.weights + net * p.stride + l.offset;
  const float *bias = w + (i64)l.inputs * l.ldOut;
  float *out = l.out + net * l.outStride, *slopes = l.slope ? l.slope + net * l.outStride : 0;
  const int across = (l.outputs + Tile - 1) / Tile;
  const Operand a{l.in + net * l.inStride, l.rows ? l.rows + net * l.rowsStride : 0, l.ldIn}, b{w, 0, l.ldOut};
  multiply<Tile, true, false, false>(a, b, blockIdx.x / across * Tile, blockIdx.x % across * Tile, n, l.outputs, l.inputs,
    [&](int row, int col, float4 v) {
      const float4 b = four(bias + col);
      float values[4], slope[4];
      activate(function, fmaf(sigmaB, b.x, v.x), values[0], slope[0]);
      activate(function, fmaf(sigmaB, b.y, v.y), values[1], slope[1]);
      activate(function, fmaf(sigmaB, b.z, v.z), values[2], slope[2]);
      activate(function, fmaf(sigmaB, b.w, v.w), values[3], slope[3]);
#pragma unroll
      for (int i = 1; i < 4; i++)
        if (col + i >= l.outputs) values[i] = slope[i] = 0;  // the padding stays zero
      const i64 at = (i64)row * l.ldOut + col;
      four(out + at, float4{l.next * values[0], l.next * values[1], l.next * values[2], l.next * values[3]});
      if (slopes) four(slopes + at, float4{slope[0], slope[1], slope[2], slope[3]});
    });
}

// backward computes g of the layer below.
template <int Tile> __device__ inline void backward(const Layer &l, const Parameters &p, int n) {
  const i64 net = blockIdx.y;
  const float *in = l.in + net * l.inStride, *slopes = l.slopeBelow ? l.slopeBelow + net * l.inStride : 0;
  float *below = l.below + net * l.belowStride;
  const int across = (l.inputs + Tile - 1) / Tile;
  const Operand a{l.grad + net * l.gradStride, 0, l.ldOut}, b{p.weights + net * p.stride + l.offset, 0, l.ldOut};
  multiply<Tile, true, true, false>(a, b, blockIdx.x / across * Tile, blockIdx.x % across * Tile, n, l.inputs, l.outputs,
    [&](int row, int col, float4 v) {
      const i64 at = (i64)row * l.ldIn + col;  // in the padding, v is zero
      float4 s = four((slopes ? slopes : in) + at);
      if (!slopes) s = float4{s.x > 0 ? 1.0f : 0.0f, s.y > 0 ? 1.0f : 0.0f, s.z > 0 ? 1.0f : 0.0f, s.w > 0 ? 1.0f : 0.0f};
      four(below + at, float4{l.scale * v.x * s.x, l.scale * v.y * s.y, l.scale * v.z * s.z, l.scale * v.w * s.w});
    });
}

// The constants of Adam, and those of one of its steps.
struct Adam {
  float beta1, gain1, beta2, gain2, eps;
};
struct AdamStep {
  float keep, rate, root, unused;
};

__device__ inline void adam(float &w, float &m, float &v, float g, const Adam &a, const AdamStep &s) {
  m = fmaf(a.beta1, m, a.gain1 * g);
  v = fmaf(a.beta2, v, a.gain2 * g * g);
  w = fmaf(s.keep, w, -(s.rate * m / fmaf(s.root, sqrtf(v), a.eps)));
}

const int kLayers = 8;

struct Learn {
  Layer layers[kLayers];
  int first[kLayers + 1];  // tile of each layer
  int count;
};

// learn computes the gradient of the parameters of all layers, and takes the step of Adam.
template <int Tile> __device__ inline void learn(const Learn &all, const Parameters &p, int n, float sigmaB, const Adam &constants, const AdamStep *steps, const int *epoch, int batch, int batches) {
  int at = 0;
  while (at + 1 < all.count && (int)blockIdx.x >= all.first[at + 1]) at++;
  const Layer &l = all.layers[at];
  const i64 net = blockIdx.y, from = net * p.stride + l.offset;
  float *__restrict__ w = p.weights + from, *__restrict__ first = p.first + from, *__restrict__ second = p.second + from;
  const int across = (l.outputs + Tile - 1) / Tile, tile = blockIdx.x - all.first[at];
  const int row0 = tile / across * Tile, col0 = tile % across * Tile;
  const AdamStep step = steps[(i64)*epoch * batches + batch];
  const Operand a{l.in + net * l.inStride, l.rows ? l.rows + net * l.rowsStride : 0, l.ldIn}, b{l.grad + net * l.gradStride, 0, l.ldOut};
  const float column = multiply<Tile, false, false, true>(a, b, row0, col0, l.inputs, l.outputs, n,
    [&](int row, int col, float4 v) {
      const i64 i = (i64)row * l.ldOut + col;  // in the padding, the gradient is zero
      float4 pw = four(w + i), pm = four(first + i), pv = four(second + i);
      adam(pw.x, pm.x, pv.x, v.x, constants, step);
      adam(pw.y, pm.y, pv.y, v.y, constants, step);
      adam(pw.z, pm.z, pv.z, v.z, constants, step);
      adam(pw.w, pm.w, pv.w, v.w, constants, step);
      four(w + i, pw);
      four(first + i, pm);
      four(second + i, pv);
    });
  const int col = col0 + threadIdx.x;
  if (row0 == 0 && threadIdx.x < Tile && col < l.outputs) {
    const i64 i = (i64)l.inputs * l.ldOut + col;
    adam(w[i], first[i], second[i], sigmaB * column, constants, step);
  }
}

#define TRAINING_TILE(Tile, Blocks) \
  extern "C" __global__ void __launch_bounds__(Shape<Tile>::threads, Blocks) hidden_##Tile(Layer l, Parameters p, int n, int function, float sigmaB) { hidden<Tile>(l, p, n, function, sigmaB); } \
  extern "C" __global__ void __launch_bounds__(Shape<Tile>::threads, Blocks) backward_##Tile(Layer l, Parameters p, int n) { backward<Tile>(l, p, n); } \
  extern "C" __global__ void __launch_bounds__(Shape<Tile>::threads, Blocks) learn_##Tile(const __grid_constant__ Learn all, Parameters p, int n, float sigmaB, Adam constants, const AdamStep *steps, const int *epoch, int batch, int batches) { learn<Tile>(all, p, n, sigmaB, constants, steps, epoch, batch, batches); }

TRAINING_TILE(32, 6)
TRAINING_TILE(64, 3)
TRAINING_TILE(128, 2)

// The last layer: outputs, residuals, their squares and, unless factors is null, g of this
// layer and of the one below. A warp has a row.
const int kHead = 256;
const int kMostOutputs = 64;

struct Labels {
  const float *y;      // rows x ldOut of the layer; NaN is a label that is missing
  const int *rows;     // as of the layer
  const float *factor; // 2/n of each network's mini-batch; null: no gradient is wanted
  double *squares;     // of each network, by block
  i64 stride, rowsStride, factorStride, squaresStride;  // from a network to the next one
};

extern "C" __global__ void __launch_bounds__(kHead) head(Layer l, Parameters p, Labels labels, int n, float sigmaB) {
  __shared__ double squares[kHead / kWarp];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const i64 net = blockIdx.y;
  const int row = blockIdx.x * (kHead / kWarp) + warp;
  const float *w = p.weights + net * p.stride + l.offset;
  double sum = 0;
  if (row < n) {
    const int from = l.rows ? l.rows[net * l.rowsStride + row] : row;
    const float *x = l.in + net * l.inStride + (i64)from * l.ldIn;
    const float *y = labels.y + net * labels.stride + (i64)(labels.rows ? labels.rows[net * labels.rowsStride + row] : row) * l.ldOut;
    const float factor = labels.factor ? labels.factor[net * labels.factorStride] : 0;
    float kept[2] = {0, 0};  // lane o % 32 keeps g of output o
    for (int o = 0; o < l.outputs; o++) {
      float z = 0;
      for (int k = lane; k < l.inputs; k += kWarp) z = fmaf(x[k], w[(i64)k * l.ldOut + o], z);
      z = fmaf(sigmaB, w[(i64)l.inputs * l.ldOut + o], warpSum(z));
      const float label = y[o];
      const float r = label != label ? 0.0f : z - label;
      sum += (double)r * (double)r;
      if (lane == o % kWarp) kept[o / kWarp] = factor * r;
    }
    if (labels.factor) {
      for (int o = lane; o < l.outputs; o += kWarp) l.grad[net * l.gradStride + (i64)row * l.ldOut + o] = kept[o / kWarp];
      if (l.below) {
        float *below = l.below + net * l.belowStride + (i64)row * l.ldIn;
        const float *slopes = l.slopeBelow ? l.slopeBelow + net * l.inStride + (i64)row * l.ldIn : 0;
        for (int k0 = 0; k0 < l.inputs; k0 += kWarp) {
          const int k = k0 + lane, safe = min(k, l.inputs - 1);
          float g = 0;
          for (int o = 0; o < l.outputs; o++)
            g = fmaf(__shfl_sync(0xffffffffu, o < kWarp ? kept[0] : kept[1], o % kWarp), w[(i64)safe * l.ldOut + o], g);
          if (k < l.inputs) below[k] = l.scale * g * (slopes ? slopes[k] : x[k] > 0 ? 1.0f : 0.0f);
        }
      }
    }
  }
  if (lane == 0) squares[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < kHead / kWarp; i++) sum += squares[i];
    labels.squares[net * labels.squaresStride + blockIdx.x] = sum;
  }
}

// The end of an epoch: what became of it, and the parameters if they are the best so far.
struct Course {
  float *weights, *best;
  i64 stride;
  int *state;           // per network: 1 if some parameter is not finite, 2 if the epoch is kept, 4 if it diverged
  double *bestError;    // per network
  const double *squares, *validSquares;  // of blocks
  const float *factors; // 2/n of each mini-batch
  double *report;       // loss, validation RMSE, and whether it diverged: of recent epochs
  int *epoch;
  i64 squaresStride, validStride, factorsStride;
  int batches, blocks, validBlocks, validLabels, nets, recent;
};

extern "C" __global__ void __launch_bounds__(256) check_parameters(Course c) {
  const float *w = c.weights + (i64)blockIdx.y * c.stride;
  bool bad = false;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < c.stride; i += (i64)gridDim.x * 256) bad |= !(fabsf(w[i]) < (float)INFINITY);
  if (__syncthreads_or(bad) && threadIdx.x == 0) atomicOr(c.state + blockIdx.y, 1);
}

// blockSum adds the numbers of 256 threads in a fixed order.
__device__ inline double blockSum(double v) {
  __shared__ double parts[256];
  parts[threadIdx.x] = v;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  v = parts[0];
  __syncthreads();
  return v;
}

extern "C" __global__ void __launch_bounds__(256) judge_epoch(Course c) {
  const i64 net = blockIdx.x;
  double loss = 0, error = 0;
  for (int i = threadIdx.x; i < c.batches * c.blocks; i += 256)
    loss += c.squares[net * c.squaresStride + i] * (0.5 * (double)c.factors[net * c.factorsStride + i / c.blocks]);
  loss = blockSum(loss) / c.batches;
  for (int i = threadIdx.x; i < c.validBlocks; i += 256) error += c.validSquares[net * c.validStride + i];
  error = sqrt(blockSum(error) / c.validLabels);
  if (threadIdx.x > 0) return;
  const bool validated = c.validLabels > 0;
  int state = c.state[net];
  const bool diverged = state & 1 || !(loss - loss == 0) || (validated && !(error - error == 0));
  state = diverged || state & 4 ? 4 : 0;
  if (state == 0 && (!validated || error < c.bestError[net])) {
    state = 2;
    if (validated) c.bestError[net] = error;
  }
  c.state[net] = state;
  double *report = c.report + ((i64)(*c.epoch % c.recent) * c.nets + net) * 3;
  report[0] = loss;
  report[1] = error;
  report[2] = state & 4 ? 1 : 0;
}

extern "C" __global__ void __launch_bounds__(256) keep_best(Course c) {
  if (c.state[blockIdx.y] & 2) {
    const i64 from = (i64)blockIdx.y * c.stride;
    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < c.stride; i += (i64)gridDim.x * 256) c.best[from + i] = c.weights[from + i];
  }
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) ++*c.epoch;
}
