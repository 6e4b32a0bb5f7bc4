package sets

// mt19937 is the Mersenne Twister of Matsumoto and Nishimura, seeded and drawn
// from as NumPy's legacy np.random.seed and np.random.permutation do. It is
// here only because the published splits come from it.
type mt19937 struct {
	state [mtWords]uint32
	next  int
}

const (
	mtWords  = 624
	mtMiddle = 397
)

func newMT19937(seed uint32) *mt19937 {
	g := &mt19937{next: mtWords}
	g.state[0] = seed
	for i := uint32(1); i < mtWords; i++ {
		last := g.state[i-1]
		g.state[i] = 1812433253*(last^last>>30) + i
	}
	return g
}

func (g *mt19937) uint32() uint32 {
	if g.next == mtWords {
		g.refill()
	}
	y := g.state[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (g *mt19937) refill() {
	for i := range g.state {
		mixed := g.state[i]&0x80000000 | g.state[(i+1)%mtWords]&0x7fffffff
		v := g.state[(i+mtMiddle)%mtWords] ^ mixed>>1
		if mixed&1 != 0 {
			v ^= 0x9908b0df
		}
		g.state[i] = v
	}
	g.next = 0
}

// upTo returns a number from 0 to limit, by drawing bits until they are in range.
func (g *mt19937) upTo(limit uint32) uint32 {
	mask := limit
	for shift := 1; shift < 32; shift *= 2 {
		mask |= mask >> shift
	}
	for {
		if v := g.uint32() & mask; v <= limit {
			return v
		}
	}
}

func (g *mt19937) perm(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := g.upTo(uint32(i))
		order[i], order[j] = order[j], order[i]
	}
	return order
}
