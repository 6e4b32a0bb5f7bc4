package transform

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Ensemble returns the sum, not the average, of the kernels of the members
// (paper, section "Ensembling"):
//
//	k_{→ens(n)} = k_1 + … + k_n
//
// The result is a kernel.FeatureMap if all members are; its features are those of
// the members side by side. A sketch of it is the sum of their sketches.
func Ensemble[T matrix.Float](members ...kernel.Kernel[T]) (kernel.Kernel[T], error) {
	const op = "ensemble"
	if err := checkCount(op, "the number of members", len(members)); err != nil {
		return nil, err
	}
	embeddings := make([]kernels.Embedding[T], len(members))
	forms := make([]kernels.Form[T], len(members))
	for i, k := range members {
		embeddings[i], forms[i] = kernels.Decompose(k)
	}
	e, err := kernels.Join(embeddings...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return kernels.Compose[T](e, kernels.NewSum(forms...)), nil
}
