package nextbatch

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// WithThreads returns a context under which the work of this module takes at most
// n threads, but never more than GOMAXPROCS; 0 means as many as that, which is
// also what a context without a budget grants. It serves everything that takes a
// context: training and predictions of a network, Select, Features, Gram, a
// benchmark. Results do not depend on it.
//
// Calls under the same context share its threads; if they run at the same time,
// each has one of its own besides. Calls under contexts of their own have their
// own threads and do not wait for one another.
func WithThreads(ctx context.Context, n int) context.Context { return linalg.WithThreads(ctx, n) }
