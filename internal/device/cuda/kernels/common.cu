// What all kernels share. The files of this folder are compiled as one, in the order of
// their names. Matrices are row-major with ld numbers per row, a multiple of four; the
// numbers beyond the last column are zero.

#define INFINITY __longlong_as_double(0x7ff0000000000000ll)

typedef long long i64;
typedef unsigned long long u64;

const int kWarp = 32;

template <class T> struct Four { T x, y, z, w; };

__device__ inline Four<float> load4(const float *p) {
  float4 v = *reinterpret_cast<const float4 *>(p);
  return {v.x, v.y, v.z, v.w};
}

__device__ inline Four<double> load4(const double *p) {
  double2 a = *reinterpret_cast<const double2 *>(p);
  double2 b = *reinterpret_cast<const double2 *>(p + 2);
  return {a.x, a.y, b.x, b.y};
}

template <class T> struct Pair { T x, y; };

__device__ inline Pair<float> load2(const float *p) {
  float2 v = *reinterpret_cast<const float2 *>(p);
  return {v.x, v.y};
}

__device__ inline Pair<double> load2(const double *p) {
  double2 v = *reinterpret_cast<const double2 *>(p);
  return {v.x, v.y};
}

__device__ inline float mulAdd(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double mulAdd(double a, double b, double c) { return fma(a, b, c); }

template <class A> __device__ inline A warpSum(A v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}
