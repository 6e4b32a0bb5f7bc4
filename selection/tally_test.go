package selection

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// counted is a result, and what it took.
type counted struct {
	*Result
	*tally.Counter
}

func selectCounted[T matrix.Float](ctx context.Context, m Method, p Problem[T]) (counted, error) {
	ctx, counter := tally.With(ctx)
	r, err := Select(ctx, m, p)
	return counted{r, counter}, err
}
