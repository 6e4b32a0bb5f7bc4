package selection

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/fileorder"
)

// TestNoFileUsesALaterOne: constraints, then what keeps track of them, the driver, the methods, and what puts these
// together. A run is picked by an ordinary selection, so runs.go and select.go use each other.
func TestNoFileUsesALaterOne(t *testing.T) {
	t.Parallel()
	fileorder.Check(t, "doc.go", "errors.go", "complaints.go", "constraints.go", "pending.go", "percost.go",
		"problem.go result.go", "limits.go", "conflict.go", "space.go", "method.go", "driver.go", "clusters.go",
		"sampler.go", "accuracy.go", "sigma2.go", "maxdet_features.go", "maxdet_precise.go", "maxdet_kernel.go", "maxdet.go",
		"bait.go bait_f.go bait_fb.go", "frankwolfe.go frankwolfe_features.go frankwolfe_kernel.go", "kmeanspp.go",
		"greedy_kmeanspp.go", "lcmd.go", "maxdiag.go", "maxdist.go", "random.go", "resume.go", "order.go",
		"runs.go select.go", "ranks.go", "registry.go", "json.go")
}
