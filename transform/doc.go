// Package transform turns kernels into other kernels (paper, section "Kernel
// Transformations"), one transformation a file.
//
// A transformation is fitted once, on the training rows where it needs any, and
// gives a kernel that is applied to any rows. The result is a kernel.FeatureMap
// where a feature map is known: always for Sketch and the acs-rf
// transformations, for the others if the kernel that they were given is one and,
// where a posterior is involved, if the posterior was computed in feature space.
//
// Everything with the noise variance σ² in it takes and gives float64:
// kernel.ToFloat64 and kernel.TapsToFloat64 are the way there from a network in float32.
// The others are for both types.
//
// Random numbers come from a Normals, in a fixed order, so that recorded draws
// can take the place of a seed.
package transform
