package selection

// Random (paper, "Random Selection"):
//
//	NEXT ~ U(X_rem), the first rows of a random order of the pool.

// Random selects rows uniformly at random. It uses no kernel: a kernel that fails does
// not stop it, but then the result lacks the nearest labelled rows. Features that are
// not finite are an error nevertheless: it is better to learn of bad data early.
type Random struct{}

// Name returns "random".
func (Random) Name() string { return "random" }

func (Random) traits() traits { return traits{anyUnit: true, noKernel: true} }

// Init draws the order.
func (m Random) Init(s *Space) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return &inOrder{space: s, order: s.stream("random").Perm(s.PoolSize()),
		choose: func(row int) Choice { return Choice{Row: row} }}, nil
}

// inOrder takes rows in an order that does not depend on what is selected.
type inOrder struct {
	space  *Space
	order  []int
	choose func(row int) Choice
}

func (f *inOrder) Add([]int) error { return nil }

// Next drops rows that are not open: a batch that only grows does not open them
// again.
func (f *inOrder) Next() (Choice, error) {
	for i, row := range f.order {
		if f.space.Open(row) {
			f.order = f.order[i:]
			return f.choose(row), nil
		}
	}
	return Choice{}, &Stuck{Reason: "no row is open"}
}
