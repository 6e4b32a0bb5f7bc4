package nextbatch

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// WithThreads returns a context under which this module uses at most n threads, and
// never more than GOMAXPROCS; 0 means GOMAXPROCS, which is also the default of a
// context without a budget. It applies to everything that takes a context: training
// and predictions of a network, Select, Features, Gram, a benchmark. Results do not
// depend on it.
//
// Calls under the same context share its threads; if they run at the same time, each
// has one of its own in addition. Calls under different contexts have their own
// threads and do not wait for one another.
func WithThreads(ctx context.Context, n int) context.Context { return linalg.WithThreads(ctx, n) }
