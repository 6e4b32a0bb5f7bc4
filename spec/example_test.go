package spec_test

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/spec"
)

func ExampleParse() {
	for _, text := range []string{"lcmd-tp : grad > sketch(512)", "badge", "NN_bait-f-p_ll_train"} {
		spec, err := spec.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(spec)
	}
	// Output:
	// lcmd-tp:grad>sketch(512)
	// kmeanspp-p:ll>train
	// bait-f-p:ll>train@compat
}

func ExampleSpec() {
	spec := spec.Spec{
		Method:     "maxdet",
		Mode:       spec.P,
		Kernel:     spec.Kernel{Name: "ll"},
		Transforms: []spec.Transform{{Name: "ens", Number: 3}, {Name: "sketch", Number: 512}, {Name: "train"}},
	}
	fmt.Println(spec, spec.Validate())
	// Output: maxdet-p:ll>ens(3)>sketch(512)>train <nil>
}

func ExampleError() {
	_, err := spec.Parse("frankwolfe-p:nngp>acs-rf(512)")
	fmt.Println(err)
	var wrong *spec.Error
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Caret())
	}
	// Output:
	// spec "frankwolfe-p:nngp>acs-rf(512)", character 19: acs-rf needs features, and nngp has infinitely many
	// frankwolfe-p:nngp>acs-rf(512)
	//                   ^~~~~~~~~~~
}

func ExampleTransforms() {
	for _, t := range spec.Transforms() {
		if t.Section == "" {
			continue // not in the paper
		}
		fmt.Printf("%-21s %s\n", t.Syntax(), t.Description)
	}
	// Output:
	// scale, scale(factor)  features times a factor, by default one that makes the mean of k(x, x) on train 1
	// post                  posterior covariance given the training rows
	// train                 short for scale>post
	// sketch(p)             random projection to p features
	// ens(n)                sum of the kernels of n networks
	// acs-grad              weighted Fisher inner product: scaled kernel times its posterior
	// acs-rf(p)             p random features of the expected log-likelihood, drawn from the posterior
	// acs-rf-hyper(p)       acs-rf with a hyperprior on the noise variance
}
