// Package transform turns kernels into other kernels (paper, section "Kernel
// Transformations"), one transformation per file.
//
// A transformation is fitted once, to the training rows if it needs any, and
// returns a kernel for any rows. The result is a kernel.FeatureMap whenever a
// feature map is known: always for Sketch and the acs-rf transformations; for the
// others, if the given kernel is one and the posterior, if there is one, was
// computed in feature space.
//
// Transformations that involve the noise variance σ² take and return float64;
// kernels.ToFloat64 and kernels.TapsToFloat64 convert what a network computes in
// float32. The others work in both types.
//
// Random numbers come from a Normals, in a fixed order, so that recorded draws
// can replace a seed.
package transform
