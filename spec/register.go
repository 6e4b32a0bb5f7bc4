package spec

import "slices"

// RegisterMethod adds a selection method under a name, so that specs can have
// it. Call it from an init function or at the start of main. It panics with a
// *RegistrationError if the name is taken or not well-formed, or if the method is
// incomplete.
func RegisterMethod(m MethodInfo) {
	if slices.Contains(presetNames(), m.Name) {
		methods.refuse(m.Name, "the name is that of a preset")
	}
	methods.add(m)
}

// RegisterKernel adds a base kernel under a name, like RegisterMethod.
func RegisterKernel(k KernelInfo) { kernels.add(k) }

// RegisterTransform adds a kernel transformation under a name, like
// RegisterMethod.
func RegisterTransform(t TransformInfo) { transforms.add(t) }
