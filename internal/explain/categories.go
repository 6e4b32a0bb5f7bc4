package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// On a table of categories, the labelled row that is nearest in the kernel is often the same one for many picks,
// although others share more levels with them. So a pick is compared with the labelled row that shares most levels with
// it, those that few rows have counting more, and combinations of levels that no labelled row has are named.

const mostUntried = 2 // levels and pairs of levels that a reason names

// category is an input of a table of categories.
type category struct {
	*input
	codes  map[string]int32 // of the levels of labelled rows
	levels []int32          // codes of the labelled rows; -1 where the value is missing
	counts []int            // of the labelled rows with each level
}

// Compared is how a pick compares with the labelled rows of a table of categories.
type Compared struct {
	Closest    int      // the labelled row that shares most levels, counted from 0
	Shared, Of int      // how many levels these are, and how many there could be
	Others     int      // labelled rows that share as many
	Untried    []string // levels, and pairs of levels, that no labelled row has
}

// learnCategories learns the levels of the labelled rows, if at least two of the inputs are categories, and half of
// them.
func (in *Inputs) learnCategories(of []encode.Category) {
	if len(in.labelled) == 0 || len(of) < 2 || 2*len(of) < len(in.list) {
		return
	}
	for _, one := range in.list {
		if !slices.ContainsFunc(of, func(c encode.Category) bool { return c.Column == one.name }) || one.train == nil {
			continue
		}
		c := &category{input: one, codes: map[string]int32{}}
		for _, row := range in.labelled {
			level := int32(-1)
			if !one.train.Missing(row) {
				text := one.train.Format(row)
				known := false
				if level, known = c.codes[text]; !known {
					level = int32(len(c.codes))
					c.codes[text], c.counts = level, append(c.counts, 0)
				}
				c.counts[level]++
			}
			c.levels = append(c.levels, level)
		}
		in.categories = append(in.categories, c)
	}
}

// OfCategories reports whether rows are compared by their categories.
func (in *Inputs) OfCategories() bool { return len(in.categories) > 0 }

// Compare compares a row of the pool's table with the labelled rows of a table of categories. Of those that share as
// many levels, the closest is the one whose numbers are; then the one whose shared levels are in the fewest labelled
// rows, and then the one that is nearest in the kernel.
func (in *Inputs) Compare(row, nearest int) Compared {
	best := Compared{Closest: nearest, Of: len(in.categories), Others: -1}
	wanted := in.levelsOf(row)
	measured, least := map[[2]int]bool{}, [3]float64{}
	for i, labelled := range in.labelled {
		var shared []int
		for k, c := range in.categories {
			if wanted[k] >= 0 && c.levels[i] == wanted[k] {
				shared = append(shared, k)
			}
		}
		for a, first := range shared {
			for _, second := range shared[a+1:] {
				measured[[2]int{first, second}] = true
			}
		}
		n := len(shared)
		if n == 0 || n < best.Shared {
			continue
		}
		if n > best.Shared {
			best.Shared, best.Others = n, -1
		}
		best.Others++
		own := [3]float64{in.gap(row, labelled), in.common(shared, wanted), 1}
		if i == nearest {
			own[2] = 0
		}
		if best.Others == 0 || slices.Compare(own[:], least[:]) < 0 {
			best.Closest, least = i, own
		}
	}
	best.Others = max(best.Others, 0)
	best.Untried = in.untried(row, wanted, measured)
	return best
}

// common is small if few labelled rows have the shared levels.
func (in *Inputs) common(shared []int, levels []int32) (sum float64) {
	for _, k := range shared {
		sum += math.Log(float64(in.categories[k].counts[levels[k]]))
	}
	return sum
}

// levelsOf returns the codes of the levels of a row of the pool's table; -1 for a missing one, and for one that no
// labelled row has.
func (in *Inputs) levelsOf(row int) []int32 {
	levels := make([]int32, len(in.categories))
	for k, c := range in.categories {
		levels[k] = -1
		if level, known := c.codes[c.pool.Format(row)]; known && !c.pool.Missing(row) {
			levels[k] = level
		}
	}
	return levels
}

// gap is the sum of squared differences of the numbers of two rows, in deviations.
func (in *Inputs) gap(row, labelled int) (sum float64) {
	for _, one := range in.list {
		if a, _ := one.compare(row, labelled); one.deviation > 0 && one.train != nil {
			sum += a.Deviations * a.Deviations
		}
	}
	return sum
}

// untried names the levels of a row that no labelled row has, and pairs of levels that none has together, although that
// would be expected of at least one if levels were combined at random; those of which most would be come first.
func (in *Inputs) untried(row int, levels []int32, measured map[[2]int]bool) (list []string) {
	type pair struct {
		text     string
		expected int
	}
	list = []string{}
	var pairs []pair
	for k, c := range in.categories {
		if c.pool.Missing(row) {
			continue
		}
		if levels[k] < 0 {
			list = append(list, c.name+" "+c.pool.Format(row))
			continue
		}
		for l, other := range in.categories[:k] {
			if levels[l] < 0 || measured[[2]int{l, k}] {
				continue
			}
			if n := c.counts[levels[k]] * other.counts[levels[l]]; n >= len(in.labelled) {
				text := fmt.Sprintf("%s %s with %s %s", other.name, other.pool.Format(row), c.name, c.pool.Format(row))
				pairs = append(pairs, pair{text, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.expected, a.expected) })
	for _, p := range pairs {
		list = append(list, p.text)
	}
	return list[:min(len(list), mostUntried)]
}

// Reason is the part of a reason about the inputs, with the differences from the closest row, and its name. Without a
// shared level, only the numbers are compared: that the categories differ is said already.
func (c Compared) Reason(list []Apart, name string) string {
	text := ""
	if len(c.Untried) > 0 {
		text = "; never measured: " + strings.Join(c.Untried, ", ")
	}
	if c.Shared == 0 {
		text += "; shares no category with any labelled row"
		if list = slices.DeleteFunc(slices.Clone(list), func(a Apart) bool { return a.Category }); len(list) > 0 {
			text += Differences(list, name)
		}
		return text
	}
	text += fmt.Sprintf("; shares %d of %d categories with labelled row %s", c.Shared, c.Of, name)
	if c.Others > 0 {
		return text + " and " + words.Count(c.Others, "other", "others") + Differences(list, name)
	}
	return text + Differences(list, "it")
}
