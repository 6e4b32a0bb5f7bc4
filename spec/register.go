package spec

import "slices"

// RegisterMethod adds a selection method under a name, so that specs can use
// it. Call it from an init function or at the start of main. It panics with a
// *RegistrationError if the name is taken or malformed, or if the method is
// incomplete.
func RegisterMethod(m MethodInfo, maker MethodMaker) {
	if slices.Contains(presetNames(), m.Name) {
		methods.refuse(m.Name, "a preset has this name")
	}
	if maker == nil {
		methods.refuse(m.Name, "the maker is missing: it constructs the method")
	}
	methods.add(m)
	methodMakers.put(m.Name, maker)
}

// RegisterKernel adds a base kernel under a name, like RegisterMethod.
func RegisterKernel(k KernelInfo, maker KernelMaker) {
	allKernels.require(k.Name, maker.Double != nil)
	k.DoubleOnly = maker.Single == nil
	allKernels.add(k)
	kernelMakers.put(k.Name, maker)
}

// RegisterTransform adds a kernel transformation under a name, like
// RegisterMethod.
func RegisterTransform(t TransformInfo, maker TransformMaker) {
	transforms.require(t.Name, maker.Double != nil)
	t.DoubleOnly = maker.Single == nil
	transforms.add(t)
	transformMakers.put(t.Name, maker)
}
