// Kernels of selection. S is the type that rows of the pool are stored in. Every sum has a
// fixed order, or is a sum of integers, so results are the same on every run and do not
// depend on the grid.

const int kPass = 256;        // threads of a pass over rows
const int kRows = 4;          // rows that a warp reads at a time
const int kScan = 256;        // threads of a scan over numbers of rows
const int kSumBlock = 1 << 14; // rows of a partial sum, as in package selection

const unsigned char kOpen = 1;
const unsigned char kSelected = 2;

// What a search for the best row reports, in memory of the host.
struct Best {
  double score;  // per price
  double value;  // dist, c or v of the row
  i64 row;       // -1: no row is open
  i64 label;
  double size;   // of the row's cluster
  i64 members;   // unselected rows of that cluster
  i64 nonzero;   // whether some open row has a finite score that is not zero
  i64 nan;       // a row whose score is NaN, or -1
};

// Steps of a selection that the card does without the host. A step takes the row that the step
// before has found, adds it and finds the next one. All of its kernels look up here which row that
// is, so a step is always the same graph. Without a walk, its pointer is null.
struct Walk {
  i64 row;      // to be taken next; -1: the walk has ended
  int answers;  // rows that were found
  int before;   // centres, or steps, before the walk
};

__device__ inline bool ended(const Walk *walk) { return walk && walk->row < 0; }

// The number of the centre, or of the step, that the walk adds now.
__device__ inline int newest(const Walk *walk) { return walk->before + walk->answers - 1; }

// Sizes of clusters are integers of 103 bits: hi·2^-shift + lo·2^-(shift+40).
struct Sizes {
  i64 *hi, *lo;
  int *rows;  // unselected rows of each cluster
  int *open;  // rows that may be picked
  double scale;      // 2^shift
  double openScale;  // the same for sums of squared distances
  int kind;          // 0: squared distance, 1: distance, 2: count; -1: no clusters
};

// Place says which four of the numbers from k on a lane has: four in a row of float32, two pairs of
// float64. So a warp always reads 512 bytes in a row.
template <class S> struct Place {
  i64 k, ld;
  int lane;
  template <class A> __device__ inline Four<A> of(const A *v) const {
    if (sizeof(S) == 4) return k + lane * 4 < ld ? load4(v + k + lane * 4) : Four<A>{0, 0, 0, 0};
    const i64 a = k + 2 * lane, b = a + 2 * kWarp;
    Pair<A> p = {0, 0}, q = {0, 0};
    if (a < ld) p = load2(v + a);
    if (b < ld) q = load2(v + b);
    return {p.x, p.y, q.x, q.y};
  }
};

// Calls use(row) for each row, after add(i, four numbers of the row, their place) for all of its
// numbers. i is the place of the row among the kRows rows that the warp reads at a time.
template <class S, class Add, class Use>
__device__ inline void passRows(const S *x, i64 ld, i64 n, Add add, Use use) {
  const int lane = threadIdx.x % kWarp;
  const i64 warps = (i64)gridDim.x * (kPass / kWarp);
  for (i64 first = ((i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp) * kRows; first < n; first += warps * kRows) {
    const int rows = n - first < kRows ? (int)(n - first) : kRows;
    for (i64 k = 0; k < ld; k += kWarp * 4) {
      const Place<S> at = {k, ld, lane};
      Four<S> part[kRows];
#pragma unroll
      for (int i = 0; i < kRows; i++) part[i] = at.of(x + (first + (i < rows ? i : 0)) * ld);
#pragma unroll
      for (int i = 0; i < kRows; i++) add(i, part[i], at);
    }
#pragma unroll
    for (int i = 0; i < kRows; i++) use(i, first + i, i < rows, lane);
  }
}

// Copies a vector of ld numbers to shared memory, if the launch has any.
template <class A> __device__ inline const A *shareVector(const A *v, i64 ld, int at) {
  extern __shared__ double shared[];
  unsigned room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (room == 0) return v;
  A *dst = reinterpret_cast<A *>(shared) + (i64)at * ld;
  for (i64 k = threadIdx.x; k < ld; k += blockDim.x) dst[k] = v[k];
  __syncthreads();
  return dst;
}

// Sizes of clusters

__device__ inline double sizeOf(const Sizes &s, double sq, const double *weights, i64 row) {
  double v = s.kind == 0 ? sq : s.kind == 1 ? sqrt(sq) : 1.0;
  return weights ? weights[row] * v : v;
}

__device__ inline void countSize(const Sizes &s, int label, double size, int sign, bool open) {
  double scaled = size * s.scale;
  double whole = floor(scaled);
  i64 hi = (i64)whole, lo = (i64)rint((scaled - whole) * 1099511627776.0);
  atomicAdd((u64 *)&s.hi[label], (u64)(sign * hi));
  atomicAdd((u64 *)&s.lo[label], (u64)(sign * lo));
  atomicAdd(&s.rows[label], sign);
  if (open) atomicAdd(&s.open[label], sign);
}

__device__ inline bool counts(unsigned char flags) { return (flags & kOpen) || !(flags & kSelected); }

// Makes a centre the nearest one of a row, if it is.
template <class T>
__device__ inline void offer(T *dist, int *labels, const unsigned char *flags, const double *weights, const Sizes &s, i64 row, T d, int label) {
  const T before = dist[row];
  if (!(d < before)) return;
  const int old = labels[row];
  dist[row] = d;
  labels[row] = label;
  if (!counts(flags[row])) return;
  const bool open = flags[row] & kOpen;
  if (old >= 0) countSize(s, old, sizeOf(s, (double)before, weights, row), -1, open);
  countSize(s, label, sizeOf(s, (double)d, weights, row), 1, open);
}

// Squared distance of a row and a vector, by a warp; every lane has the result.
template <class T> __device__ inline T warpDistance(const T *x, const T *c, i64 ld, int lane) {
  T sum = 0;
  for (i64 k = 0; k < ld; k += kWarp * 4) {
    const Place<T> at = {k, ld, lane};
    Four<T> v = at.of(x), e = at.of(c);
    T a = v.x - e.x, b = v.y - e.y, f = v.z - e.z, g = v.w - e.w;
    sum = mulAdd(a, a, sum);
    sum = mulAdd(b, b, sum);
    sum = mulAdd(f, f, sum);
    sum = mulAdd(g, g, sum);
  }
  return warpSum(sum);
}

// Squared distances of a new centre from all others, which are kept in centres; so is, in
// the end, the new one. length is that of the new one. On a walk, centre is the first row of the
// pool, and all centres before the new one count.
template <class T> __device__ void centreDistances(T *centres, i64 ld, int many, const T *centre, int label, T *to, double *length, const Walk *walk) {
  if (ended(walk)) return;
  if (walk) centre += walk->row * ld, many = label = newest(walk);
  const int lane = threadIdx.x % kWarp;
  if (blockIdx.x == 0 && threadIdx.x < kWarp) {
    double sum = 0;
    for (i64 k = lane; k < ld; k += kWarp) {
      const T v = centre[k];
      centres[label * ld + k] = v;
      sum = fma((double)v, (double)v, sum);
    }
    sum = warpSum(sum);
    if (lane == 0) *length = sqrt(sum);
  }
  for (int i = blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; i < many; i += gridDim.x * (kPass / kWarp)) {
    T d = warpDistance(centres + (i64)i * ld, centre, ld, lane);
    if (lane == 0) to[i] = d;
  }
}

extern "C" __global__ void __launch_bounds__(kPass) centre_distances_f32(float *centres, i64 ld, int many, const float *centre, int label, float *to, double *length, const Walk *walk) { centreDistances(centres, ld, many, centre, label, to, length, walk); }
extern "C" __global__ void __launch_bounds__(kPass) centre_distances_f64(double *centres, i64 ld, int many, const double *centre, int label, double *to, double *length, const Walk *walk) { centreDistances(centres, ld, many, centre, label, to, length, walk); }

// Directions x/‖x‖ of rows: (q − 2^15)·scale with whole numbers q of 16 bits, two in each of ld
// words per row. off is the length of what rounding took from a direction.
struct Rough {
  unsigned *words;  // null: there are none
  float *scale, *off;
  double *norm;
  i64 ld;
  float rounding;  // of products with a vector of length 1
  int unused;
};

__device__ inline void fromWord(unsigned word, float &low, float &high) {
  const float base = 8388608.0f + 32768.0f;  // 2^23 + 2^15
  low = __uint_as_float(0x4b000000u | (word & 0xffffu)) - base;
  high = __uint_as_float(0x4b000000u | (word >> 16)) - base;
}

// roughRows makes them, given the norms.
template <class S> __device__ void roughRows(const S *x, i64 ld, i64 n, Rough r) {
  const int lane = threadIdx.x % kWarp;
  for (i64 row = (i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; row < n; row += (i64)gridDim.x * (kPass / kWarp)) {
    const S *phi = x + row * ld;
    const double norm = r.norm[row];
    double most = 0, sum = 0;
    for (i64 k = lane; k < ld; k += kWarp) most = fmax(most, fabs((double)phi[k]));
    for (int step = 16; step > 0; step /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, step));
    const float scale = norm == 0 ? 0 : __double2float_ru(most / norm / 32767);
    auto whole = [&](i64 k, double &direction) {
      direction = k < ld && scale > 0 ? (double)phi[k] / norm : 0;
      return scale > 0 ? (int)rint(direction / scale) : 0;
    };
    for (i64 k = lane; k < r.ld; k += kWarp) {
      double a, b;
      const int low = whole(2 * k, a), high = whole(2 * k + 1, b);
      a -= (double)low * scale, b -= (double)high * scale;
      sum = fma(a, a, fma(b, b, sum));
      r.words[row * r.ld + k] = (unsigned)(low + 32768) | (unsigned)(high + 32768) << 16;
    }
    sum = warpSum(sum);
    if (lane == 0) r.scale[row] = scale, r.off[row] = __double2float_ru(sqrt(sum) * (1 + 1e-9));
  }
}

extern "C" __global__ void __launch_bounds__(kPass) rough_rows_f32(const float *x, i64 ld, i64 n, Rough r) { roughRows(x, ld, n, r); }
extern "C" __global__ void __launch_bounds__(kPass) rough_rows_f64(const double *x, i64 ld, i64 n, Rough r) { roughRows(x, ld, n, r); }

const int kGroup = 8;  // rows that a warp decides on at a time: with fewer, warps share better

// Of the rows of a group, of which the warp wants a set, lane i gets ⟨direction, e⟩ of row
// first + i, for a vector e of length 1 at most. It is off by no more than off + rounding.
__device__ inline float roughProduct(const Rough &r, unsigned set, i64 first, const float *e, int lane) {
  float mine = 0;
  while (set) {
    int at[kRows];
    float sum[kRows] = {};
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      at[i] = set ? __ffs(set) - 1 : -1;
      set &= set - 1;
    }
    for (i64 k = lane * 4; k < r.ld; k += kWarp * 4) {
      uint4 part[kRows];
#pragma unroll
      for (int i = 0; i < kRows; i++) part[i] = *reinterpret_cast<const uint4 *>(r.words + (first + (at[i] < 0 ? at[0] : at[i])) * r.ld + k);
      const Four<float> u = load4(e + 2 * k), v = load4(e + 2 * k + 4);
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        float low, high;
        fromWord(part[i].x, low, high), sum[i] = fmaf(low, u.x, fmaf(high, u.y, sum[i]));
        fromWord(part[i].y, low, high), sum[i] = fmaf(low, u.z, fmaf(high, u.w, sum[i]));
        fromWord(part[i].z, low, high), sum[i] = fmaf(low, v.x, fmaf(high, v.y, sum[i]));
        fromWord(part[i].w, low, high), sum[i] = fmaf(low, v.z, fmaf(high, v.w, sum[i]));
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; i++) {
      const float whole = warpSum(sum[i]);
      if (lane == at[i]) mine = whole * r.scale[first + lane];
    }
  }
  return mine;
}

// Writes v/length to shared memory behind some bytes, with zeros up to the end of a rough
// row.
template <class V> __device__ inline const float *shareDirection(const V *v, i64 ld, double length, i64 words, i64 behind) {
  extern __shared__ double shared[];
  float *e = reinterpret_cast<float *>(reinterpret_cast<char *>(shared) + behind);
  for (i64 k = threadIdx.x; k < 2 * words; k += blockDim.x) e[k] = k < ld && length > 0 ? (float)((double)v[k] / length) : 0.0f;
  __syncthreads();
  return e;
}

// Adds a centre. A row stays with its centre c if the new one is at least twice as far from
// c as the row is: d(x, new) ≥ d(c, new) − d(x, c) ≥ d(x, c). margin, above 4, allows for
// rounding. Such rows are not read. Of the others, only those are read that may be nearer to the
// new centre, by their rough direction: ‖x − c‖² = ‖x‖² + ‖c‖² − 2⟨x, c⟩. On a walk, the centre
// is its row.
template <class T>
__device__ void addCentre(const T *x, i64 ld, i64 n, const T *centre, int label, const T *between, T margin, const double *length, Rough r, T *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s, const Walk *walk) {
  if (ended(walk)) return;
  if (walk) centre = x + walk->row * ld, label = newest(walk);
  const T *c = shareVector(centre, ld, 0);
  const float *e = r.words ? shareDirection(centre, ld, *length, r.ld, ld * (i64)sizeof(T)) : 0;
  const int lane = threadIdx.x % kWarp;
  const i64 warps = (i64)gridDim.x * (kPass / kWarp);
  // A warp decides on a group of rows, and then reads those that are left, four at a time.
  for (i64 first = ((i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp) * kGroup; first < n; first += warps * kGroup) {
    bool read = lane < kGroup && first + lane < n;
    if (read) {
      int old = labels[first + lane];
      read = old < 0 || between[old] < margin * dist[first + lane];
    }
    unsigned left = __ballot_sync(0xffffffffu, read);
    if (r.words) {
      const float product = roughProduct(r, left, first, e, lane);
      if (read) {
        const double norm = r.norm[first + lane], squares = fma(norm, norm, *length * *length);
        const double least = squares * (1 - 1e-14) - 2 * norm * *length * ((double)product + (double)(r.off[first + lane] + r.rounding));
        read = !(4 * least >= (double)margin * (double)dist[first + lane]);
      }
      left = __ballot_sync(0xffffffffu, read);
    }
    while (left) {
      i64 row[kRows];
      int many = 0;
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        row[i] = i ? row[0] : first;
        if (!left) continue;
        row[i] = first + __ffs(left) - 1;
        left &= left - 1;
        many++;
      }
      T sum[kRows] = {};
      for (i64 k = 0; k < ld; k += kWarp * 4) {
        const Place<T> at = {k, ld, lane};
        Four<T> part[kRows], v = at.of(c);
#pragma unroll
        for (int i = 0; i < kRows; i++) part[i] = at.of(x + row[i] * ld);
#pragma unroll
        for (int i = 0; i < kRows; i++) {
          T a = part[i].x - v.x, b = part[i].y - v.y, f = part[i].z - v.z, g = part[i].w - v.w;
          sum[i] = mulAdd(a, a, sum[i]);
          sum[i] = mulAdd(b, b, sum[i]);
          sum[i] = mulAdd(f, f, sum[i]);
          sum[i] = mulAdd(g, g, sum[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        T d = warpSum(sum[i]);
        if (i < many && lane == i) offer(dist, labels, flags, weights, s, row[i], d, label);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kPass) add_centre_f32(const float *x, i64 ld, i64 n, const float *centre, int label, const float *between, float margin, const double *length, Rough r, float *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s, const Walk *walk) {
  addCentre(x, ld, n, centre, label, between, margin, length, r, dist, labels, flags, weights, s, walk);
}
extern "C" __global__ void __launch_bounds__(kPass) add_centre_f64(const double *x, i64 ld, i64 n, const double *centre, int label, const double *between, double margin, const double *length, Rough r, double *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s, const Walk *walk) {
  addCentre(x, ld, n, centre, label, between, margin, length, r, dist, labels, flags, weights, s, walk);
}

// Many centres at once, in float32. Tensor cores compute inner products with 11 digits,
// which only rule out centres; the distances of the survivors are computed as above, so the
// result is that of adding the centres one by one.

__device__ inline unsigned toTF32(float v) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
}

__device__ inline void copyAsync(float *to, const float *from, bool there) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there ? 16 : 0));
}

const int kTile = 128;   // rows and centres of a block
const int kDeep = 32;    // features at a time
const int kPitch = kDeep + 4;

// p[m][n] = a[m][k]·b[n][k]ᵀ: eight warps, each with 64x32 of the 128x128.
extern "C" __global__ void __launch_bounds__(256) inner_products(const float *a, i64 ld, int m, const float *b, int n, float *p, i64 ldp) {
  extern __shared__ float tiles[];
  float *as[2] = {tiles, tiles + kTile * kPitch}, *bs[2] = {tiles + 2 * kTile * kPitch, tiles + 3 * kTile * kPitch};
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, g = lane / 4, t = lane % 4;
  const int wr = warp / 4 * 64, wc = warp % 4 * 32;
  float sum[4][4][4] = {};
  const int steps = (int)((ld + kDeep - 1) / kDeep);
  auto fetch = [&](int step, int into) {
#pragma unroll
    for (int i = 0; i < kTile * kDeep / 4 / 256; i++) {
      int e = threadIdx.x + i * 256, r = e / (kDeep / 4), k = e % (kDeep / 4) * 4;
      i64 at = (i64)step * kDeep + k;
      bool inA = row0 + r < m && at < ld, inB = col0 + r < n && at < ld;
      copyAsync(as[into] + r * kPitch + k, inA ? a + (i64)(row0 + r) * ld + at : a, inA);
      copyAsync(bs[into] + r * kPitch + k, inB ? b + (i64)(col0 + r) * ld + at : b, inB);
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0, 0);
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) {
      fetch(step + 1, (step + 1) % 2);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    const float *at = as[step % 2] + wr * kPitch, *bt = bs[step % 2] + wc * kPitch;
#pragma unroll
    for (int k = 0; k < kDeep; k += 8) {
      unsigned u[4][4], v[4][2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float *f = at + (i * 16 + g) * kPitch + k + t;
        u[i][0] = toTF32(f[0]), u[i][1] = toTF32(f[8 * kPitch]), u[i][2] = toTF32(f[4]), u[i][3] = toTF32(f[8 * kPitch + 4]);
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const float *f = bt + (j * 8 + g) * kPitch + k + t;
        v[j][0] = toTF32(f[0]), v[j][1] = toTF32(f[4]);
      }
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                       : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
                       : "r"(u[i][0]), "r"(u[i][1]), "r"(u[i][2]), "r"(u[i][3]), "r"(v[j][0]), "r"(v[j][1]));
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int row = row0 + wr + i * 16 + g, col = col0 + wc + j * 8 + 2 * t;
      // p has room for whole tiles of columns.
      if (row < m) *reinterpret_cast<float2 *>(p + (i64)row * ldp + col) = float2{sum[i][j][0], sum[i][j][1]};
      if (row + 8 < m) *reinterpret_cast<float2 *>(p + (i64)(row + 8) * ldp + col) = float2{sum[i][j][2], sum[i][j][3]};
    }
}

// Squared norms of rows in their own precision, and the lengths of what tensor cores do not
// see of the rows.
extern "C" __global__ void __launch_bounds__(kPass) squares_f32(const float *x, i64 ld, i64 n, float *to, float *off) {
  const int lane = threadIdx.x % kWarp;
  auto rest = [](float v) { return v - __uint_as_float(toTF32(v)); };
  for (i64 row = (i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; row < n; row += (i64)gridDim.x * (kPass / kWarp)) {
    float sum = 0, lost = 0;
    for (i64 k = lane * 4; k < ld; k += kWarp * 4) {
      Four<float> v = load4(x + row * ld + k), r = {rest(v.x), rest(v.y), rest(v.z), rest(v.w)};
      sum = fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, fmaf(v.w, v.w, sum))));
      lost = fmaf(r.x, r.x, fmaf(r.y, r.y, fmaf(r.z, r.z, fmaf(r.w, r.w, lost))));
    }
    sum = warpSum(sum), lost = warpSum(lost);
    // Squares that are too small for float32 may be missing: then 2^-11 of each number, at most.
    if (lane == 0) to[row] = sum, off[row] = lost > 1e-30f ? sqrtf(lost) : sqrtf(sum) / 2048;
  }
}

// Finds the nearest of many centres for a block of rows, from their inner products. With
// e = |computed − exact| ≤ 2·(off_x·‖c‖ + ‖x‖·off_c) + share·‖x‖·‖c‖ for ‖c‖² − 2⟨x, c⟩, and
// some per cent to spare, a centre survives if its lower bound does not exceed the least upper
// bound. 1e-5·(‖x‖² + ‖c‖²) is for the rounding of the distances, which decides between centres
// that are as near.
extern "C" __global__ void __launch_bounds__(kPass) settle_centres(const float *x, i64 ld, i64 n, const float *centres, int many, int first, const float *p, i64 ldp, const float *squares, const float *offs, const float *centreSquares, const float *centreOffs, float share, float *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s) {
  const int lane = threadIdx.x % kWarp;
  for (i64 row = (i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; row < n; row += (i64)gridDim.x * (kPass / kWarp)) {
    const float norm = 2.1f * sqrtf(squares[row]), side = 2.1f * offs[row] + share * sqrtf(squares[row]);
    auto error = [&](int c, float sq) { return side * sqrtf(sq) + norm * centreOffs[c] + 1e-5f * (sq + squares[row]); };
    float upper = (float)INFINITY;
    for (int c = lane; c < many; c += kWarp) {
      float sq = centreSquares[c];
      upper = fminf(upper, sq - 2 * p[row * ldp + c] + error(c, sq));
    }
    for (int step = 16; step > 0; step /= 2) upper = fminf(upper, __shfl_xor_sync(0xffffffffu, upper, step));
    float best = (float)INFINITY;
    int at = -1;
    for (int from = 0; from < many; from += kWarp) {
      bool survives = false;
      if (from + lane < many) {
        float sq = centreSquares[from + lane];
        survives = sq - 2 * p[row * ldp + from + lane] - error(from + lane, sq) <= upper;
      }
      for (unsigned left = __ballot_sync(0xffffffffu, survives); left; left &= left - 1) {
        int c = from + __ffs(left) - 1;
        float d = warpDistance(x + row * ld, centres + (i64)c * ld, ld, lane);
        if (d < best) best = d, at = c;
      }
    }
    if (lane == 0 && at >= 0) offer(dist, labels, flags, weights, s, row, best, first + at);
  }
}

// The nearest of some other rows, for each of a list of rows: one block per row.
template <class T>
__device__ void nearestOther(const T *x, i64 ld, const int *list, const T *others, int many, T *dist, int *at) {
  __shared__ T best[kPass / kWarp];
  __shared__ int which[kPass / kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const T *row = x + (i64)list[blockIdx.x] * ld;
  T least = (T)INFINITY;
  int found = -1;
  for (int i = warp; i < many; i += kPass / kWarp) {
    T d = warpDistance(row, others + (i64)i * ld, ld, lane);
    if (d < least) least = d, found = i;
  }
  if (lane == 0) best[warp] = least, which[warp] = found;
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 1; w < kPass / kWarp; w++)
    if (which[w] >= 0 && (found < 0 || best[w] < least || best[w] == least && which[w] < found)) least = best[w], found = which[w];
  dist[blockIdx.x] = least;
  at[blockIdx.x] = found;
}

extern "C" __global__ void __launch_bounds__(kPass) nearest_other_f32(const float *x, i64 ld, const int *list, const float *others, int many, float *dist, int *at) { nearestOther(x, ld, list, others, many, dist, at); }
extern "C" __global__ void __launch_bounds__(kPass) nearest_other_f64(const double *x, i64 ld, const int *list, const double *others, int many, double *dist, int *at) { nearestOther(x, ld, list, others, many, dist, at); }

// Many centres at once, in float64. A block has 16·M rows and goes through all centres, 16·N at a time;
// a thread has M rows and N centres. Differences are squared and summed in the order of
// features.
template <class T, int M, int N, int K>
__device__ void addCentres(const T *x, i64 ld, i64 n, const T *centres, int many, int first, T *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s) {
  const int BM = 16 * M, BN = 16 * N;
  __shared__ T a[2][K][BM + 4], b[2][K][BN + 4];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const i64 row0 = (i64)blockIdx.x * BM;
  T best[M];
  int at[M];
#pragma unroll
  for (int i = 0; i < M; i++) best[i] = (T)INFINITY, at[i] = -1;
  const int steps = (int)((ld + K - 1) / K);
  const int PA = BM * K / 4 / 256, PB = BN * K / 4 / 256;  // loads of four numbers by a thread
  for (int c0 = 0; c0 < many; c0 += BN) {
    T sum[M][N];
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < N; j++) sum[i][j] = 0;
    Four<T> fa[PA], fb[PB];
    auto fetch = [&](int step) {
#pragma unroll
      for (int p = 0; p < PA; p++) {
        int e = threadIdx.x + p * 256;
        i64 k = (i64)step * K + e % (K / 4) * 4, row = row0 + e / (K / 4);
        fa[p] = k < ld && row < n ? load4(x + row * ld + k) : Four<T>{0, 0, 0, 0};
      }
#pragma unroll
      for (int p = 0; p < PB; p++) {
        int e = threadIdx.x + p * 256;
        i64 k = (i64)step * K + e % (K / 4) * 4;
        int row = c0 + e / (K / 4);
        fb[p] = k < ld && row < many ? load4(centres + (i64)row * ld + k) : Four<T>{0, 0, 0, 0};
      }
    };
    auto store = [&](int into) {
#pragma unroll
      for (int p = 0; p < PA; p++) {
        int e = threadIdx.x + p * 256, k = e % (K / 4) * 4, r = e / (K / 4);
        a[into][k][r] = fa[p].x, a[into][k + 1][r] = fa[p].y, a[into][k + 2][r] = fa[p].z, a[into][k + 3][r] = fa[p].w;
      }
#pragma unroll
      for (int p = 0; p < PB; p++) {
        int e = threadIdx.x + p * 256, k = e % (K / 4) * 4, r = e / (K / 4);
        b[into][k][r] = fb[p].x, b[into][k + 1][r] = fb[p].y, b[into][k + 2][r] = fb[p].z, b[into][k + 3][r] = fb[p].w;
      }
    };
    fetch(0);
    __syncthreads();  // the tile before has been read
    store(0);
    __syncthreads();
    for (int step = 0; step < steps; step++) {
      const int now = step % 2;
      if (step + 1 < steps) fetch(step + 1);
#pragma unroll
      for (int k = 0; k < K; k++) {
        T u[M], v[N];
#pragma unroll
        for (int i = 0; i < M; i += 4) {
          Four<T> f = load4(&a[now][k][ty * 4 + i * 16]);
          u[i] = f.x, u[i + 1] = f.y, u[i + 2] = f.z, u[i + 3] = f.w;
        }
#pragma unroll
        for (int j = 0; j < N; j += 4) {
          Four<T> f = load4(&b[now][k][tx * 4 + j * 16]);
          v[j] = f.x, v[j + 1] = f.y, v[j + 2] = f.z, v[j + 3] = f.w;
        }
#pragma unroll
        for (int i = 0; i < M; i++)
#pragma unroll
          for (int j = 0; j < N; j++) {
            T e = u[i] - v[j];
            sum[i][j] = mulAdd(e, e, sum[i][j]);
          }
      }
      if (step + 1 < steps) store(1 - now);
      __syncthreads();
    }
    // Of equal distances the lowest label wins, in a thread and among threads.
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < N; j++) {
        int c = c0 + tx * 4 + j % 4 + j / 4 * 64;
        if (c < many && (sum[i][j] < best[i] || sum[i][j] == best[i] && c < at[i])) best[i] = sum[i][j], at[i] = c;
      }
  }
#pragma unroll
  for (int i = 0; i < M; i++) {
    for (int step = 8; step > 0; step /= 2) {
      T other = __shfl_xor_sync(0xffffffffu, best[i], step);
      int label = __shfl_xor_sync(0xffffffffu, at[i], step);
      if (label >= 0 && (at[i] < 0 || other < best[i] || other == best[i] && label < at[i])) best[i] = other, at[i] = label;
    }
    i64 row = row0 + ty * 4 + i % 4 + i / 4 * 64;
    if (tx == 0 && row < n && at[i] >= 0) offer(dist, labels, flags, weights, s, row, best[i], first + at[i]);
  }
}

extern "C" __global__ void __launch_bounds__(256) add_centres_f64(const double *x, i64 ld, i64 n, const double *centres, int many, int first, double *dist, int *labels, const unsigned char *flags, const double *weights, Sizes s) {
  addCentres<double, 4, 4, 16>(x, ld, n, centres, many, first, dist, labels, flags, weights, s);
}

// The mark of a row changes.
template <class T>
__device__ inline void setMark(i64 row, unsigned char now, unsigned char *flags, const T *dist, const int *labels, const double *weights, const Sizes &s) {
  const unsigned char before = flags[row];
  flags[row] = now;
  if (s.kind < 0 || labels[row] < 0) return;
  const int label = labels[row];
  const double size = sizeOf(s, (double)dist[row], weights, row);
  if (counts(before)) countSize(s, label, size, -1, before & kOpen);
  if (counts(now)) countSize(s, label, size, 1, now & kOpen);
}

template <class T>
__device__ void mark(const int *rows, const unsigned char *marks, int many, unsigned char *flags, const T *dist, const int *labels, const double *weights, Sizes s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < many) setMark(rows[i], marks[i], flags, dist, labels, weights, s);
}

extern "C" __global__ void mark_f32(const int *rows, const unsigned char *marks, int many, unsigned char *flags, const float *dist, const int *labels, const double *weights, Sizes s) {
  mark(rows, marks, many, flags, dist, labels, weights, s);
}
extern "C" __global__ void mark_f64(const int *rows, const unsigned char *marks, int many, unsigned char *flags, const double *dist, const int *labels, const double *weights, Sizes s) {
  mark(rows, marks, many, flags, dist, labels, weights, s);
}

// The best row

struct Top {
  double score;
  i64 row;
  i64 nonzero, nan;
};

__device__ inline void join(Top &a, const Top &b) {
  if (b.row >= 0 && (a.row < 0 || b.score > a.score || b.score == a.score && b.row < a.row)) a.score = b.score, a.row = b.row;
  a.nonzero |= b.nonzero;
  if (b.nan >= 0 && (a.nan < 0 || b.nan < a.nan)) a.nan = b.nan;
}

__device__ inline Top joinWarp(Top a) {
  for (int step = 16; step > 0; step /= 2) {
    Top b;
    b.score = __shfl_xor_sync(0xffffffffu, a.score, step);
    b.row = __shfl_xor_sync(0xffffffffu, a.row, step);
    b.nonzero = __shfl_xor_sync(0xffffffffu, a.nonzero, step);
    b.nan = __shfl_xor_sync(0xffffffffu, a.nan, step);
    join(a, b);
  }
  return a;
}

__device__ inline Top joinBlock(Top a) {
  __shared__ Top tops[kScan / kWarp];
  a = joinWarp(a);
  if (threadIdx.x % kWarp == 0) tops[threadIdx.x / kWarp] = a;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    Top none = {0, -1, 0, -1};
    a = joinWarp(threadIdx.x < kScan / kWarp ? tops[threadIdx.x] : none);
  }
  __syncthreads();
  return a;
}

// Finds the best of the rows for which score returns true; the block that ends last joins
// what the others found, and its first thread calls done.
template <class Score, class Done>
__device__ inline void findBest(i64 n, Top *tops, unsigned *arrived, Score score, Done done) {
  Top top = {0, -1, 0, -1};
  for (i64 row = (i64)blockIdx.x * kScan + threadIdx.x; row < n; row += (i64)gridDim.x * kScan) {
    double v;
    if (!score(row, v)) continue;
    Top one = {v, row, v != 0 && v - v == 0, -1};
    if (v != v) one.row = -1, one.nan = row;
    join(top, one);
  }
  top = joinBlock(top);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    tops[blockIdx.x] = top;
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  top = {0, -1, 0, -1};
  for (int i = threadIdx.x; i < gridDim.x; i += kScan) {
    Top one;
    volatile Top *from = &tops[i];
    one.score = from->score, one.row = from->row, one.nonzero = from->nonzero, one.nan = from->nan;
    join(top, one);
  }
  top = joinBlock(top);
  if (threadIdx.x == 0) {
    *arrived = 0;
    done(top);
  }
}

__device__ inline void report(Best *best, const Top &top, double value, i64 label, double size, i64 members) {
  best->score = top.score, best->row = top.row, best->nonzero = top.nonzero, best->nan = top.nan;
  best->value = value, best->label = label, best->size = size, best->members = members;
}

// Reports to the host and, on a walk, to the next step. A row whose score is NaN ends it.
__device__ inline void answer(Best *best, Walk *walk, const Top &top, double value, i64 label, double size, i64 members) {
  report(walk ? best + walk->answers : best, top, value, label, size, members);
  if (walk) walk->row = top.nan >= 0 ? -1 : top.row, walk->answers++;
}

__device__ inline void normalise(i64 &hi, i64 &lo) {
  hi += lo >> 40;
  lo &= (1ll << 40) - 1;
}

__device__ inline double sizeAt(const Sizes &s, int label) {
  i64 hi = s.hi[label], lo = s.lo[label];
  normalise(hi, lo);
  return ((double)hi + (double)lo / 1099511627776.0) / s.scale;
}

// The sizes of the largest clusters with an open row: one block.
extern "C" __global__ void __launch_bounds__(1024) largest_cluster(Sizes s, int clusters, i64 *largest, const Walk *walk) {
  if (ended(walk)) return;
  if (walk) clusters = newest(walk) + 1;
  __shared__ i64 his[32], los[32];
  i64 hi = -1, lo = -1;
  auto take = [&](i64 h, i64 l) {
    if (h > hi || h == hi && l > lo) hi = h, lo = l;
  };
  auto takeWarp = [&]() {
    for (int step = 16; step > 0; step /= 2) {
      i64 h = __shfl_xor_sync(0xffffffffu, hi, step), l = __shfl_xor_sync(0xffffffffu, lo, step);
      take(h, l);
    }
  };
  for (int i = threadIdx.x; i < clusters; i += 1024) {
    if (s.open[i] <= 0) continue;
    i64 h = s.hi[i], l = s.lo[i];
    normalise(h, l);
    take(h, l);
  }
  takeWarp();
  if (threadIdx.x % kWarp == 0) his[threadIdx.x / kWarp] = hi, los[threadIdx.x / kWarp] = lo;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    hi = his[threadIdx.x], lo = los[threadIdx.x];
    takeWarp();
    if (threadIdx.x == 0) largest[0] = hi, largest[1] = lo;
  }
}

// The open row that is farthest from its centre; of the largest clusters only, unless
// largest is null.
template <class T>
__device__ void farthest(i64 n, const T *dist, const int *labels, const unsigned char *flags, const double *price, Sizes s, const i64 *largest, Top *tops, unsigned *arrived, Best *best, Walk *walk) {
  if (ended(walk)) return;
  i64 hi = 0, lo = 0;
  if (largest) hi = largest[0], lo = largest[1];
  findBest(n, tops, arrived, [&](i64 row, double &v) {
    if (!(flags[row] & kOpen)) return false;
    if (largest) {
      i64 h = s.hi[labels[row]], l = s.lo[labels[row]];
      normalise(h, l);
      if (h != hi || l != lo) return false;
    }
    v = (double)dist[row];
    if (price) v /= price[row];
    return true;
  }, [&](const Top &top) {
    if (top.row < 0) return answer(best, walk, top, 0, -1, 0, 0);
    const int label = labels[top.row];
    answer(best, walk, top, (double)dist[top.row], label, label < 0 ? 0 : sizeAt(s, label), label < 0 ? 0 : s.rows[label]);
  });
}

extern "C" __global__ void __launch_bounds__(kScan) farthest_f32(i64 n, const float *dist, const int *labels, const unsigned char *flags, const double *price, Sizes s, const i64 *largest, Top *tops, unsigned *arrived, Best *best, Walk *walk) {
  farthest(n, dist, labels, flags, price, s, largest, tops, arrived, best, walk);
}
extern "C" __global__ void __launch_bounds__(kScan) farthest_f64(i64 n, const double *dist, const int *labels, const unsigned char *flags, const double *price, Sizes s, const i64 *largest, Top *tops, unsigned *arrived, Best *best, Walk *walk) {
  farthest(n, dist, labels, flags, price, s, largest, tops, arrived, best, walk);
}

// One row with its cluster: one thread.
template <class T> __device__ void rowAt(i64 row, const T *dist, const int *labels, Sizes s, Best *best, Walk *walk) {
  const int label = labels[row];
  Top top = {(double)dist[row], row, 0, -1};
  answer(best, walk, top, (double)dist[row], label, label < 0 ? 0 : sizeAt(s, label), label < 0 ? 0 : s.rows[label]);
}

extern "C" __global__ void row_at_f32(i64 row, const float *dist, const int *labels, Sizes s, Best *best) { rowAt(row, dist, labels, s, best, 0); }
extern "C" __global__ void row_at_f64(i64 row, const double *dist, const int *labels, Sizes s, Best *best) { rowAt(row, dist, labels, s, best, 0); }

// Clusters as sums for the host. far holds the bits of the largest score of each cluster,
// top its first row; both must be zero and -1 before.
struct Cluster {
  double size, open, far;
  i64 rows, top;
};

template <class T>
__device__ void farInCluster(i64 n, int first, int many, const T *dist, const int *labels, const unsigned char *flags, const double *price, u64 *far) {
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
    int at = labels[row] - first;
    if (!(flags[row] & kOpen) || at < 0 || at >= many) continue;
    double v = (double)dist[row];
    if (price) v /= price[row];
    atomicMax(&far[at], (u64)__double_as_longlong(v));
  }
}

template <class T>
__device__ void topInCluster(i64 n, int first, int many, const T *dist, const int *labels, const unsigned char *flags, const double *price, const u64 *far, u64 *top, Sizes s, i64 *openHi, i64 *openLo) {
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
    int at = labels[row] - first;
    if (!(flags[row] & kOpen) || at < 0 || at >= many) continue;
    double d = (double)dist[row], v = d;
    if (price) v /= price[row];
    if ((u64)__double_as_longlong(v) == far[at]) atomicMin(&top[at], (u64)row);
    double scaled = d * s.openScale, whole = floor(scaled);
    atomicAdd((u64 *)&openHi[at], (u64)(i64)whole);
    atomicAdd((u64 *)&openLo[at], (u64)(i64)rint((scaled - whole) * 1099511627776.0));
  }
}

extern "C" __global__ void far_in_cluster_f32(i64 n, int first, int many, const float *dist, const int *labels, const unsigned char *flags, const double *price, u64 *far) { farInCluster(n, first, many, dist, labels, flags, price, far); }
extern "C" __global__ void far_in_cluster_f64(i64 n, int first, int many, const double *dist, const int *labels, const unsigned char *flags, const double *price, u64 *far) { farInCluster(n, first, many, dist, labels, flags, price, far); }
extern "C" __global__ void top_in_cluster_f32(i64 n, int first, int many, const float *dist, const int *labels, const unsigned char *flags, const double *price, const u64 *far, u64 *top, Sizes s, i64 *openHi, i64 *openLo) { topInCluster(n, first, many, dist, labels, flags, price, far, top, s, openHi, openLo); }
extern "C" __global__ void top_in_cluster_f64(i64 n, int first, int many, const double *dist, const int *labels, const unsigned char *flags, const double *price, const u64 *far, u64 *top, Sizes s, i64 *openHi, i64 *openLo) { topInCluster(n, first, many, dist, labels, flags, price, far, top, s, openHi, openLo); }

extern "C" __global__ void sum_clusters(Sizes s, int first, int many, const u64 *far, const u64 *top, const i64 *openHi, const i64 *openLo, Cluster *to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= many) return;
  i64 hi = openHi[i], lo = openLo[i];
  normalise(hi, lo);
  to[i].size = sizeAt(s, first + i);
  to[i].rows = s.rows[first + i];
  to[i].open = ((double)hi + (double)lo / 1099511627776.0) / s.openScale;
  to[i].far = __longlong_as_double((i64)far[i]);
  to[i].top = (i64)top[i];
}

// Weights and block sums

// Sums blocks of kSumBlock numbers, each with 1024 threads in a fixed order.
__device__ inline double sumBlock(i64 from, i64 n, double *values) {
  __shared__ double part[32];
  i64 to = from + kSumBlock < n ? from + kSumBlock : n;
  double sum = 0;
  for (i64 row = from + threadIdx.x; row < to; row += 1024) sum += values[row];
  sum = warpSum(sum);
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = sum;
  __syncthreads();
  return warpSum(part[threadIdx.x % kWarp]);
}

extern "C" __global__ void __launch_bounds__(1024) block_sums(double *values, i64 n, double *sums, const Walk *walk) {
  if (ended(walk)) return;
  double sum = sumBlock((i64)blockIdx.x * kSumBlock, n, values);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
__device__ void weigh(i64 n, const T *dist, const int *labels, const unsigned char *flags, const double *weights, const double *scale, double *values, const Walk *walk) {
  if (ended(walk)) return;
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x) {
    double v = 0;
    if (flags[row] & kOpen) {
      v = weights ? weights[row] : 1;
      if (dist) v *= (double)dist[row];
      if (scale) v *= scale[labels[row]];
    }
    values[row] = v;
  }
}

extern "C" __global__ void weigh_f32(i64 n, const float *dist, const int *labels, const unsigned char *flags, const double *weights, const double *scale, double *values, const Walk *walk) { weigh(n, dist, labels, flags, weights, scale, values, walk); }
extern "C" __global__ void weigh_f64(i64 n, const double *dist, const int *labels, const unsigned char *flags, const double *weights, const double *scale, double *values, const Walk *walk) { weigh(n, dist, labels, flags, weights, scale, values, walk); }

// The first of 32 numbers, one in each lane, at which the running sum exceeds a point; or the
// last that is not zero, since the point may round up to the total; -1 if all are zero. before,
// which the running sum starts with, becomes that before the number.
__device__ inline int firstBeyond(double v, double point, double &before, int lane) {
  double scan = v;
  for (int step = 1; step < kWarp; step *= 2) {
    const double w = __shfl_up_sync(0xffffffffu, scan, step);
    if (lane >= step) scan += w;
  }
  const unsigned some = __ballot_sync(0xffffffffu, v > 0), beyond = __ballot_sync(0xffffffffu, v > 0 && before + scan > point);
  const int at = beyond ? __ffs(beyond) - 1 : 31 - __clz(some);
  before += __shfl_sync(0xffffffffu, scan - v, at < 0 ? 0 : at);
  return at;
}

// Draws a row of a block, and reports it: the first whose running sum exceeds u times the
// total. One block of 32 warps, each with 512 rows in order, in 16 parts: the sums of warps
// lead to a warp, those of its parts to a part, and the numbers to the row.
template <class T>
__device__ void drawRow(const double *values, i64 n, i64 from, double u, const T *dist, const int *labels, Sizes s, Best *best, Walk *walk) {
  const int each = kSumBlock / 1024;
  __shared__ double totals[32];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const i64 first = from + warp * each * kWarp + lane;
  auto at = [&](int i) { return first + i * kWarp < n ? values[first + i * kWarp] : 0.0; };
  double part = 0, sum = 0;  // part of lane i is the sum of part i
#pragma unroll
  for (int i = 0; i < each; i++) {
    const double v = warpSum(at(i));
    if (lane == i) part = v;
  }
  sum = warpSum(part);
  if (lane == 0) totals[warp] = sum;
  __syncthreads();
  double before = 0;
  const double point = u * warpSum(totals[lane]);
  const int there = firstBeyond(totals[lane], point, before, lane);
  if (there < 0 && threadIdx.x == 0) answer(best, walk, {0, -1, 0, -1}, 0, -1, 0, 0);
  if (warp != there) return;
  const int which = firstBeyond(part, point, before, lane);
  const int found = firstBeyond(at(which), point, before, lane);
  if (lane == found) rowAt(first + which * kWarp, dist, labels, s, best, walk);
}

extern "C" __global__ void __launch_bounds__(1024) draw_row_f32(const double *values, i64 n, i64 from, double u, const float *dist, const int *labels, Sizes s, Best *best) { drawRow(values, n, from, u, dist, labels, s, best, (Walk *)0); }
extern "C" __global__ void __launch_bounds__(1024) draw_row_f64(const double *values, i64 n, i64 from, double u, const double *dist, const int *labels, Sizes s, Best *best) { drawRow(values, n, from, u, dist, labels, s, best, (Walk *)0); }

// What a row would take from the squared distances as a centre.
template <class T>
__device__ void gain(const T *x, i64 ld, i64 n, const T *centre, const T *dist, const double *weights, double *values) {
  const T *c = shareVector(centre, ld, 0);
  T sum[kRows] = {};
  passRows(x, ld, n, [&](int i, Four<T> v, Place<T> at) {
    Four<T> e = at.of(c);
    T a = v.x - e.x, b = v.y - e.y, f = v.z - e.z, g = v.w - e.w;
    sum[i] = mulAdd(a, a, sum[i]);
    sum[i] = mulAdd(b, b, sum[i]);
    sum[i] = mulAdd(f, f, sum[i]);
    sum[i] = mulAdd(g, g, sum[i]);
  }, [&](int i, i64 row, bool there, int lane) {
    T d = warpSum(sum[i]);
    sum[i] = 0;
    if (!there || lane != i) return;
    double v = d < dist[row] ? (double)dist[row] - (double)d : 0;
    values[row] = weights ? weights[row] * v : v;
  });
}

extern "C" __global__ void __launch_bounds__(kPass) gain_f32(const float *x, i64 ld, i64 n, const float *centre, const float *dist, const double *weights, double *values) { gain(x, ld, n, centre, dist, weights, values); }
extern "C" __global__ void __launch_bounds__(kPass) gain_f64(const double *x, i64 ld, i64 n, const double *centre, const double *dist, const double *weights, double *values) { gain(x, ld, n, centre, dist, weights, values); }

template <class T> __device__ void weighted(i64 n, const T *dist, const double *weights, double *values) {
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += (i64)gridDim.x * blockDim.x)
    values[row] = weights ? weights[row] * (double)dist[row] : (double)dist[row];
}

extern "C" __global__ void weighted_f32(i64 n, const float *dist, const double *weights, double *values) { weighted(n, dist, weights, values); }
extern "C" __global__ void weighted_f64(i64 n, const double *dist, const double *weights, double *values) { weighted(n, dist, weights, values); }

// Products with one or two vectors, in float64 whatever rows are stored in.

template <class S> __device__ inline void dot4(double &sum, Four<S> v, Four<double> e) {
  sum = fma((double)v.x, e.x, sum);
  sum = fma((double)v.y, e.y, sum);
  sum = fma((double)v.z, e.z, sum);
  sum = fma((double)v.w, e.w, sum);
}

// Variances of MaxDet: c = max(c − ⟨φ, w⟩², 0) for the vectors w of all steps, of which a row
// has done some. c only falls, so before the others it is an upper bound.

// catchUp does the steps that a row lacks, by a warp; every lane has the result. A product
// is summed up in the same order whatever the steps beside it.
template <class S> __device__ inline double catchUp(const S *phi, i64 ld, const double *steps, int from, int to, double c, int lane) {
  const int beside = 4;
  for (; from < to; from += beside) {
    double sum[beside] = {};
    for (i64 k = 0; k < ld; k += kWarp * 4) {
      const Place<S> at = {k, ld, lane};
      const Four<S> v = at.of(phi);
#pragma unroll
      for (int i = 0; i < beside; i++) dot4(sum[i], v, at.of(steps + (i64)(from + i < to ? from + i : from) * ld));
    }
#pragma unroll
    for (int i = 0; i < beside; i++) {
      const double u = warpSum(sum[i]);
      if (from + i < to) c = fmax(fma(-u, u, c), 0.0);
    }
  }
  return c;
}

const int kFewSteps = 8;  // a row that lacks no more is left to a warp

// catchUpBlock is catchUp with all threads of a block.
template <class S> __device__ inline double catchUpBlock(const S *phi, i64 ld, const double *steps, int from, int to, double c) {
  const int beside = 4;
  __shared__ double products[kPass];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (; from < to; from += kPass) {
    const int many = to - from < kPass ? to - from : kPass;
    for (int at = warp * beside; at < many; at += kPass / kWarp * beside) {
      double sum[beside] = {};
      for (i64 k = 0; k < ld; k += kWarp * 4) {
        const Place<S> place = {k, ld, lane};
        const Four<S> v = place.of(phi);
#pragma unroll
        for (int i = 0; i < beside; i++) dot4(sum[i], v, place.of(steps + (i64)(from + (at + i < many ? at + i : at)) * ld));
      }
#pragma unroll
      for (int i = 0; i < beside; i++) {
        const double u = warpSum(sum[i]);
        if (lane == 0 && at + i < many) products[at + i] = u;
      }
    }
    __syncthreads();
    for (int i = 0; i < many; i++) c = fmax(fma(-products[i], products[i], c), 0.0);
    __syncthreads();
  }
  return c;
}

// The rows that were the best of their blocks in the search before, each by a block: their
// variances are lower bounds of the largest one.
template <class S> __device__ void settleTops(const S *x, i64 ld, const double *steps, int count, const Top *tops, const unsigned char *flags, double *c, int *done, const Walk *walk) {
  if (ended(walk)) return;
  if (walk) count = newest(walk) + 1;
  const i64 row = tops[blockIdx.x].row;
  if (row < 0 || !(flags[row] & kOpen)) return;
  bool again = false;  // before there are tops, all are row 0
  for (int other = threadIdx.x; other < blockIdx.x; other += kPass) again |= tops[other].row == row;
  if (__syncthreads_or(again)) return;
  const double v = catchUpBlock(x + row * ld, ld, steps, done[row], count, c[row]);
  if (threadIdx.x == 0) c[row] = v, done[row] = count;
}

extern "C" __global__ void __launch_bounds__(kPass) settle_tops_f32(const float *x, i64 ld, const double *steps, int count, const Top *tops, const unsigned char *flags, double *c, int *done, const Walk *walk) { settleTops(x, ld, steps, count, tops, flags, c, done, walk); }
extern "C" __global__ void __launch_bounds__(kPass) settle_tops_f64(const double *x, i64 ld, const double *steps, int count, const Top *tops, const unsigned char *flags, double *c, int *done, const Walk *walk) { settleTops(x, ld, steps, count, tops, flags, c, done, walk); }

// Brings all rows up to date whose bound is no less than the variance of every top. Without
// tops, these are all rows; with only ≥ 0, that row alone.
template <class S> __device__ void settleVariances(const S *x, i64 ld, i64 n, const double *steps, int count, const Top *tops, int many, const unsigned char *flags, i64 only, double *c, int *done, const Walk *walk) {
  if (ended(walk)) return;
  if (walk) count = newest(walk) + 1;
  __shared__ double least;
  __shared__ int few, more;
  __shared__ unsigned char lacking[2][kPass];  // rows of the block that lack few steps, and more
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  if (warp == 0) {
    double best = -INFINITY;
    for (int i = lane; i < many; i += kWarp) {
      const i64 row = tops[i].row;
      if (row >= 0 && flags[row] & kOpen && done[row] == count) best = fmax(best, c[row]);
    }
    for (int step = 16; step > 0; step /= 2) best = fmax(best, __shfl_xor_sync(0xffffffffu, best, step));
    if (lane == 0) least = best;
  }
  for (i64 first = (i64)blockIdx.x * kPass; first < n; first += (i64)gridDim.x * kPass) {
    if (threadIdx.x == 0) few = more = 0;
    __syncthreads();
    const i64 mine = first + threadIdx.x;
    const int lacks = mine < n && (only < 0 || mine == only) ? count - done[mine] : 0;
    if (lacks > 0 && (many == 0 || flags[mine] & kOpen && !(c[mine] < least))) {
      if (lacks <= kFewSteps) lacking[0][atomicAdd(&few, 1)] = threadIdx.x;
      else lacking[1][atomicAdd(&more, 1)] = threadIdx.x;
    }
    __syncthreads();
    for (int i = warp; i < few; i += kPass / kWarp) {
      const i64 row = first + lacking[0][i];
      const double v = catchUp(x + row * ld, ld, steps, done[row], count, c[row], lane);
      __syncwarp();
      if (lane == 0) c[row] = v, done[row] = count;
    }
    for (int i = 0; i < more; i++) {
      const i64 row = first + lacking[1][i];
      const double v = catchUpBlock(x + row * ld, ld, steps, done[row], count, c[row]);
      if (threadIdx.x == 0) c[row] = v, done[row] = count;
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(kPass) settle_variances_f32(const float *x, i64 ld, i64 n, const double *steps, int count, const Top *tops, int many, const unsigned char *flags, i64 only, double *c, int *done, const Walk *walk) { settleVariances(x, ld, n, steps, count, tops, many, flags, only, c, done, walk); }
extern "C" __global__ void __launch_bounds__(kPass) settle_variances_f64(const double *x, i64 ld, i64 n, const double *steps, int count, const Top *tops, int many, const unsigned char *flags, i64 only, double *c, int *done, const Walk *walk) { settleVariances(x, ld, n, steps, count, tops, many, flags, only, c, done, walk); }

// v = v + u·z, c = max(c − u², 0) with u = ⟨φ, w⟩, z = ⟨φ, p⟩, for BAIT.
template <class S> __device__ void totalStep(const S *x, i64 ld, i64 n, const double *wp, double *c, double *v, const Walk *walk) {
  if (ended(walk)) return;
  const double *w = shareVector(wp, ld, 0), *p = shareVector(wp + ld, ld, 1);
  double us[kRows] = {}, zs[kRows] = {};
  passRows(x, ld, n, [&](int i, Four<S> f, Place<S> at) {
    dot4(us[i], f, at.of(w));
    dot4(zs[i], f, at.of(p));
  }, [&](int i, i64 row, bool there, int lane) {
    double u = warpSum(us[i]), z = warpSum(zs[i]);
    us[i] = zs[i] = 0;
    if (there && lane == i) {
      v[row] += u * z;
      c[row] = fmax(c[row] - u * u, 0.0);
    }
  });
}

extern "C" __global__ void __launch_bounds__(kPass) total_step_f32(const float *x, i64 ld, i64 n, const double *wp, double *c, double *v, const Walk *walk) { totalStep(x, ld, n, wp, c, v, walk); }
extern "C" __global__ void __launch_bounds__(kPass) total_step_f64(const double *x, i64 ld, i64 n, const double *wp, double *c, double *v, const Walk *walk) { totalStep(x, ld, n, wp, c, v, walk); }

// Squared norms of rows; with root, the norms.
template <class S> __device__ void norms(const S *x, i64 ld, i64 n, int root, double *to) {
  double sum[kRows] = {};
  passRows(x, ld, n, [&](int i, Four<S> v, Place<S>) { dot4(sum[i], v, Four<double>{(double)v.x, (double)v.y, (double)v.z, (double)v.w}); }, [&](int i, i64 row, bool there, int lane) {
    double u = warpSum(sum[i]);
    sum[i] = 0;
    if (there && lane == i) to[row] = root ? sqrt(u) : u;
  });
}

extern "C" __global__ void __launch_bounds__(kPass) norms_f32(const float *x, i64 ld, i64 n, int root, double *to) { norms(x, ld, n, root, to); }
extern "C" __global__ void __launch_bounds__(kPass) norms_f64(const double *x, i64 ld, i64 n, int root, double *to) { norms(x, ld, n, root, to); }

// ⟨φ, y⟩/norm: -∞ without a direction. With no norms, w·⟨φ, y⟩².
template <class S> __device__ void scores(const S *x, i64 ld, i64 n, const double *y, const double *norm, const double *weights, double *to, const Walk *walk) {
  if (ended(walk)) return;
  const double *e = shareVector(y, ld, 0);
  double sum[kRows] = {};
  passRows(x, ld, n, [&](int i, Four<S> v, Place<S> at) { dot4(sum[i], v, at.of(e)); }, [&](int i, i64 row, bool there, int lane) {
    double u = warpSum(sum[i]);
    sum[i] = 0;
    if (!there || lane != i) return;
    if (norm) to[row] = norm[row] == 0 ? -INFINITY : u / norm[row];
    else to[row] = weights ? weights[row] * u * u : u * u;
  });
}

extern "C" __global__ void __launch_bounds__(kPass) scores_f32(const float *x, i64 ld, i64 n, const double *y, const double *norm, const double *weights, double *to, const Walk *walk) { scores(x, ld, n, y, norm, weights, to, walk); }
extern "C" __global__ void __launch_bounds__(kPass) scores_f64(const double *x, i64 ld, i64 n, const double *y, const double *norm, const double *weights, double *to, const Walk *walk) { scores(x, ld, n, y, norm, weights, to, walk); }

// Rough scores of FrankWolfe, ⟨direction, y/‖y‖⟩, and the largest lower bound of each block.
extern "C" __global__ void __launch_bounds__(kPass) rough_scores(Rough r, i64 ld, i64 n, const double *y, const double *length, const unsigned char *flags, float *rough, float *least, const Walk *walk) {
  if (ended(walk)) return;
  __shared__ float bests[kPass / kWarp];
  const float *e = shareDirection(y, ld, *length, r.ld, 0);
  const int lane = threadIdx.x % kWarp;
  const i64 warps = (i64)gridDim.x * (kPass / kWarp);
  float best = -(float)INFINITY;
  for (i64 first = ((i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp) * kGroup; first < n; first += warps * kGroup) {
    const i64 row = first + lane;
    const bool there = lane < kGroup && row < n, wanted = there && r.norm[row] != 0 && flags[row] & kOpen;
    const float product = roughProduct(r, __ballot_sync(0xffffffffu, wanted), first, e, lane);
    if (wanted) best = fmaxf(best, product - (r.off[row] + r.rounding));
    if (there) rough[row] = product;
  }
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (lane == 0) bests[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x) return;
  for (int i = 1; i < kPass / kWarp; i++) best = fmaxf(best, bests[i]);
  least[blockIdx.x] = best;
}

// Exact scores of the rows whose upper bound is no less than the largest lower bound; the
// others, which are smaller than these, keep rough ones.
template <class S> __device__ void settleScores(const S *x, i64 ld, i64 n, const double *y, double length, Rough r, const float *rough, const float *least, int blocks, const unsigned char *flags, double *to, const Walk *walk) {
  if (ended(walk)) return;
  __shared__ float bests[kPass / kWarp];
  const double *e = shareVector(y, ld, 0);
  const int lane = threadIdx.x % kWarp;
  float best = -(float)INFINITY;
  for (int i = threadIdx.x; i < blocks; i += kPass) best = fmaxf(best, least[i]);
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (lane == 0) bests[threadIdx.x / kWarp] = best;
  __syncthreads();
  for (int i = 0; i < kPass / kWarp; i++) best = fmaxf(best, bests[i]);
  const i64 warps = (i64)gridDim.x * (kPass / kWarp);
  for (i64 first = ((i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp) * kWarp; first < n; first += warps * kWarp) {
    const i64 mine = first + lane;
    bool near = false;
    if (mine < n) {
      near = r.norm[mine] != 0 && flags[mine] & kOpen && !(rough[mine] + (r.off[mine] + r.rounding) < best);
      if (!near) to[mine] = r.norm[mine] == 0 ? -INFINITY : (double)rough[mine] * length;
    }
    for (unsigned left = __ballot_sync(0xffffffffu, near); left; left &= left - 1) {
      const i64 row = first + __ffs(left) - 1;
      double sum = 0;
      for (i64 k = 0; k < ld; k += kWarp * 4) {
        const Place<S> at = {k, ld, lane};
        dot4(sum, at.of(x + row * ld), at.of(e));
      }
      sum = warpSum(sum);
      if (lane == 0) to[row] = sum / r.norm[row];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kPass) settle_scores_f32(const float *x, i64 ld, i64 n, const double *y, const double *length, Rough r, const float *rough, const float *least, int blocks, const unsigned char *flags, double *to, const Walk *walk) { settleScores(x, ld, n, y, *length, r, rough, least, blocks, flags, to, walk); }
extern "C" __global__ void __launch_bounds__(kPass) settle_scores_f64(const double *x, i64 ld, i64 n, const double *y, const double *length, Rough r, const float *rough, const float *least, int blocks, const unsigned char *flags, double *to, const Walk *walk) { settleScores(x, ld, n, y, *length, r, rough, least, blocks, flags, to, walk); }

// The row of largest score: v/(c + offset), or v itself without c. Closed rows count, too,
// without flags.
extern "C" __global__ void __launch_bounds__(kScan) best_score(i64 n, const double *v, const double *c, double offset, const unsigned char *flags, const double *price, Top *tops, unsigned *arrived, Best *best, Walk *walk) {
  if (ended(walk)) return;
  findBest(n, tops, arrived, [&](i64 row, double &s) {
    if (flags && !(flags[row] & kOpen)) return false;
    s = c ? v[row] / (c[row] + offset) : v[row];
    if (price) s /= price[row];
    return true;
  }, [&](const Top &top) { answer(best, walk, top, top.row < 0 ? 0 : v[top.row], -1, 0, 0); });
}

extern "C" __global__ void score_at(i64 row, const double *v, const double *c, double offset, Best *best) {
  Top top = {c ? v[row] / (c[row] + offset) : v[row], row, 0, -1};
  report(best, top, v[row], -1, 0, 0);
}

// Sums, or largest magnitudes, of each feature over pieces of rows.
template <class S> __device__ void columns(const S *x, i64 ld, i64 n, i64 piece, int largest, double *to) {
  i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= ld) return;
  i64 from = blockIdx.y * piece, end = from + piece < n ? from + piece : n;
  double sum = 0;
  for (i64 row = from; row < end; row++) {
    double v = (double)x[row * ld + k];
    sum = largest ? fmax(sum, fabs(v)) : sum + v;
  }
  to[(i64)blockIdx.y * ld + k] = sum;
}

extern "C" __global__ void columns_f32(const float *x, i64 ld, i64 n, i64 piece, int largest, double *to) { columns(x, ld, n, piece, largest, to); }
extern "C" __global__ void columns_f64(const double *x, i64 ld, i64 n, i64 piece, int largest, double *to) { columns(x, ld, n, piece, largest, to); }

// Products of matrices in float64, on tensor cores: 64x64 of the result by a block of eight warps,
// each with 16x32, in steps of 16 products.

// Adds the products of a step. Number k of row i of a and b is at i·R + k·K.
template <int R, int K> __device__ inline void tileStep(double (&sum)[2][4][2], const double *a, const double *b) {
  const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int k = t; k < 16; k += 4) {
    double u[2], v[4];
#pragma unroll
    for (int i = 0; i < 2; i++) u[i] = a[(warp / 2 * 16 + i * 8 + g) * R + k * K];
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] = b[(warp % 2 * 32 + j * 8 + g) * R + k * K];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(sum[i][j][0]), "+d"(sum[i][j][1]) : "d"(u[i]), "d"(v[j]));
  }
}

// Does all steps: fetch reads the numbers of a step to registers, store writes them to one of two
// buffers, and multiply adds their products.
template <class Fetch, class Store, class Multiply> __device__ inline void tile(int steps, Fetch fetch, Store store, Multiply multiply) {
  fetch(0);
  store(0);
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) fetch(step + 1);
    multiply(step % 2);
    if (step + 1 < steps) store((step + 1) % 2);
    __syncthreads();
  }
}

// Writes what is inside of m rows and n columns.
__device__ inline void writeTile(double (&sum)[2][4][2], int row0, int col0, i64 m, i64 n, double *c, i64 ldc) {
  const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++)
      for (int e = 0; e < 2; e++) {
        const int row = row0 + warp / 2 * 16 + i * 8 + g, col = col0 + warp % 2 * 32 + j * 8 + 2 * t + e;
        if (row < m && col < n) c[(i64)row * ldc + col] = sum[i][j][e];
      }
}

template <class S> __device__ inline void store4(double *to, Four<S> v) { to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w; }

// c[m][n] = a[m][k]·b[n][k]ᵀ.
template <class S>
__device__ void multiplyNT(const S *a, i64 lda, int m, const double *b, i64 ldb, int n, int k, double *c, i64 ldc) {
  const int pitch = 20;  // free of bank conflicts
  __shared__ double as[2][64 * pitch], bs[2][64 * pitch];
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  double sum[2][4][2] = {};
  // A thread has four numbers of one row: 64 rows of 16.
  const int r = threadIdx.x / 4, q = threadIdx.x % 4 * 4;
  Four<S> u;
  Four<double> v;
  tile((k + 15) / 16, [&](int step) {
    const int at = step * 16 + q;
    u = row0 + r < m && at < k ? load4(a + (i64)(row0 + r) * lda + at) : Four<S>{0, 0, 0, 0};
    v = col0 + r < n && at < k ? load4(b + (i64)(col0 + r) * ldb + at) : Four<double>{0, 0, 0, 0};
  }, [&](int into) {
    store4(as[into] + r * pitch + q, u);
    store4(bs[into] + r * pitch + q, v);
  }, [&](int from) { tileStep<pitch, 1>(sum, as[from], bs[from]); });
  writeTile(sum, row0, col0, m, n, c, ldc);
}

extern "C" __global__ void __launch_bounds__(256) multiply_nt_f32(const float *a, i64 lda, int m, const double *b, i64 ldb, int n, int k, double *c, i64 ldc) { multiplyNT(a, lda, m, b, ldb, n, k, c, ldc); }
extern "C" __global__ void __launch_bounds__(256) multiply_nt_f64(const double *a, i64 lda, int m, const double *b, i64 ldb, int n, int k, double *c, i64 ldc) { multiplyNT(a, lda, m, b, ldb, n, k, c, ldc); }

// Second moments of parts of rows: parts[part] = Σ w·φφᵀ, without what is above the diagonal.
template <class S>
__device__ void moments(const S *x, i64 ld, i64 n, i64 each, const double *weights, double *parts) {
  const int pitch = 68;
  __shared__ double as[2][16 * pitch], bs[2][16 * pitch];
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  if (col0 > row0) return;  // the host mirrors it
  const i64 first = blockIdx.z * each;
  const i64 end = first + each < n ? first + each : n;
  double sum[2][4][2] = {};
  // A thread has four features of one row: 16 rows of 64.
  const int r = threadIdx.x / 16, q = threadIdx.x % 16 * 4;
  Four<S> u, v;
  double w;
  tile((int)((end - first + 15) / 16), [&](int step) {
    const i64 row = first + step * 16 + r;
    auto part = [&](int from) { return row < end && from + q < ld ? load4(x + row * ld + from + q) : Four<S>{0, 0, 0, 0}; };
    u = part(row0), v = part(col0);
    w = weights && row < end ? weights[row] : 1;
  }, [&](int into) {
    store4(as[into] + r * pitch + q, Four<double>{w * u.x, w * u.y, w * u.z, w * u.w});
    store4(bs[into] + r * pitch + q, v);
  }, [&](int from) { tileStep<1, pitch>(sum, as[from], bs[from]); });
  writeTile(sum, row0, col0, ld, ld, parts + (i64)blockIdx.z * ld * ld, ld);
}

extern "C" __global__ void __launch_bounds__(256) moments_f32(const float *x, i64 ld, i64 n, i64 each, const double *weights, double *parts) { moments(x, ld, n, each, weights, parts); }
extern "C" __global__ void __launch_bounds__(256) moments_f64(const double *x, i64 ld, i64 n, i64 each, const double *weights, double *parts) { moments(x, ld, n, each, weights, parts); }

// Adds up parts, in order, onto a sum.
extern "C" __global__ void sum_parts(const double *parts, i64 size, int many, double *to) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double sum = to[i];
  for (int p = 0; p < many; p++) sum += parts[p * size + i];
  to[i] = sum;
}

// c = ‖a‖² and v = ⟨a, b⟩ of rows; b may be null. With minus, c = max(minus − ‖a‖², 0).
template <class S>
__device__ void rowProducts(const S *a, i64 lda, const double *b, i64 ldb, i64 n, i64 k, const double *minus, double *c, double *v) {
  const int lane = threadIdx.x % kWarp;
  for (i64 row = (i64)blockIdx.x * (kPass / kWarp) + threadIdx.x / kWarp; row < n; row += (i64)gridDim.x * (kPass / kWarp)) {
    double square = 0, product = 0;
    for (i64 i = lane; i < k; i += kWarp) {
      double x = (double)a[row * lda + i];
      square = fma(x, x, square);
      if (b) product = fma(x, b[row * ldb + i], product);
    }
    square = warpSum(square), product = warpSum(product);
    if (lane) continue;
    c[row] = minus ? fmax(minus[row] - square, 0.0) : square;
    if (v) v[row] = product;
  }
}

extern "C" __global__ void __launch_bounds__(kPass) row_products_f32(const float *a, i64 lda, const double *b, i64 ldb, i64 n, i64 k, const double *minus, double *c, double *v) { rowProducts(a, lda, b, ldb, n, k, minus, c, v); }
extern "C" __global__ void __launch_bounds__(kPass) row_products_f64(const double *a, i64 lda, const double *b, i64 ldb, i64 n, i64 k, const double *minus, double *c, double *v) { rowProducts(a, lda, b, ldb, n, k, minus, c, v); }

// Fills an array.
extern "C" __global__ void fill_f32(float *to, i64 n, float v) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) to[i] = v;
}
extern "C" __global__ void fill_f64(double *to, i64 n, double v) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) to[i] = v;
}
extern "C" __global__ void fill_i32(int *to, i64 n, int v) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) to[i] = v;
}
