package spec

import "slices"

// RegisterMethod adds a selection method under a name, so that specs can use
// it. Call it from an init function or at the start of main. It panics with a
// *RegistrationError if the name is taken or malformed, or if the method is
// incomplete.
func RegisterMethod(m MethodInfo) {
	if slices.Contains(presetNames(), m.Name) {
		methods.refuse(m.Name, "a preset has this name")
	}
	methods.add(m)
}

// RegisterKernel adds a base kernel under a name, like RegisterMethod.
func RegisterKernel(k KernelInfo) { kernels.add(k) }

// RegisterTransform adds a kernel transformation under a name, like
// RegisterMethod.
func RegisterTransform(t TransformInfo) { transforms.add(t) }
