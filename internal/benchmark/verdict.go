package benchmark

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Verdict is the one answer that the comparisons of all methods give together.
type Verdict uint8

const (
	Unclear      Verdict = iota // there are not enough labels to tell
	NoGain                      // no method is shown to beat random, and a worthwhile gain is ruled out
	RandomBetter                // random selection beats every method
	Beats                       // a method beats random selection
)

// String is the verdict in a word that programs can compare.
func (v Verdict) String() string {
	switch v {
	case Beats:
		return "beats random"
	case NoGain:
		return "no gain"
	case RandomBetter:
		return "random is better"
	}
	return "not enough labels"
}

// Judgement is a verdict and what led to it.
type Judgement struct {
	Verdict Verdict
	Spec    string     // the method that beats random; empty for the other verdicts
	Because words.Text // the reason, in a sentence

	// More is how many more labels would probably settle it, for Unclear; see moreLabels.
	// Repeats is the number of splits that would, without another label; 0 means that
	// none would.
	More, Repeats int
	// NoReplay means that there are too few labels for a replay. More is then how many a
	// replay takes at least; telling may take many more.
	NoReplay bool
}

// because is the verdict as a clause about the method to use.
func (j Judgement) because() words.Text {
	switch j.Verdict {
	case Beats:
		return words.Textf("it beats random selection")
	case NoGain:
		return words.Textf("no method is shown to beat that")
	case RandomBetter:
		return words.Textf("that beats every method that was tried")
	}
	const open = "there are not enough labels to tell whether it beats random selection"
	more := words.Num(words.Whole(j.More))
	if j.NoReplay {
		return words.Textf(open+"; trying it takes at least %s more, and telling may take many more", more)
	}
	if j.More == 0 {
		return words.Textf(open+", and %d times as many might not be enough", mostTimes)
	}
	return words.Textf(open+"; about %s more would tell", more)
}

// worthwhile is the reduction of log error that is worth a change of method: an error
// that is 10 % lower. If every method's interval ends below it, random selection will do.
var worthwhile = -math.Log(0.9)

// Judge gives the verdict on a table with the given number of labelled rows:
//
//	Beats         if the interval of a method lies above zero
//	RandomBetter  if the intervals of all methods lie below zero
//	NoGain        if those of all methods lie below Worthwhile
//	Unclear       otherwise
//
// The intervals hold together, so that the chance of a false Beats is at most half of one
// minus the confidence, however many methods there are.
func (c *Comparison) Judge(labelled int) Judgement {
	best := slices.MaxFunc(c.Methods, func(x, y Gain) int { return cmp.Compare(x.Reduction.Low, y.Reduction.Low) })
	highest := slices.MaxFunc(c.Methods, func(x, y Gain) int { return cmp.Compare(x.Reduction.High, y.Reduction.High) })
	switch {
	case best.Reduction.Low > 0:
		return Judgement{Verdict: Beats, Spec: best.Spec, Because: c.beatsBecause(best)}
	case highest.Reduction.High < 0:
		return Judgement{Verdict: RandomBetter, Because: c.errorText(highest)}
	case highest.Reduction.High < worthwhile:
		return Judgement{Verdict: NoGain, Because: c.noGainBecause(highest)}
	}
	likeliest := slices.MaxFunc(c.Methods,
		func(x, y Gain) int { return cmp.Compare(x.Reduction.Value, y.Reduction.Value) })
	return c.unclear(labelled, likeliest)
}

func (c *Comparison) unclear(labelled int, likeliest Gain) Judgement {
	var reductions []Interval
	for _, g := range c.Methods {
		reductions = append(reductions, g.Reduction)
	}
	j := Judgement{Because: words.Textf("%v, which leaves the question open", c.errorText(likeliest))}
	each := eachOf(c.Confidence, len(reductions))
	j.More = moreLabels(reductions, labelled, student(each, c.Splits))
	if j.Repeats = c.moreRepeats(reductions, each); j.Repeats > 0 {
		j.Because = words.Textf("%v; with the same labels, %d repeats instead of %d might settle it", j.Because, j.Repeats,
			c.Splits)
	}
	return j
}

// errorText describes how the errors of a method compare, and on which rows.
func (c *Comparison) errorText(g Gain) words.Text {
	rounds := len(c.Labels) - 1
	over := fmt.Sprintf("the mean over %d rounds, with %d to %d labels", rounds, c.Labels[1], c.Labels[rounds])
	if rounds == 1 {
		over = fmt.Sprintf("with %d labels", c.Labels[1])
	}
	return words.Textf("compared with random, the error of %s is %v, %s", g.Spec,
		ReductionText(g.Reduction, c.Confidence), over)
}

func (c *Comparison) beatsBecause(best Gain) words.Text {
	text := c.errorText(best)
	if !math.IsNaN(best.Labels.Value) {
		text = words.Textf("%v; it reaches the final error of random with %v", text, c.LabelsText(best))
	}
	return text
}

func (c *Comparison) noGainBecause(highest Gain) words.Text {
	text := words.Textf("%v; a gain of %s %% or more is ruled out for every method", c.errorText(highest),
		percentage(-math.Expm1(-worthwhile)))
	if c.Fall.High < worthwhile {
		text = words.Textf("%v; nor do more labels help much: %v", text, c.FallText())
	}
	return text
}

// FallText describes how much more labels lower the error of random selection.
func (c *Comparison) FallText() words.Text {
	last := len(c.Labels) - 1
	return words.Textf("with %d labels the error of random is %v, compared with %d labels", c.Labels[last],
		ReductionText(c.Fall, c.Confidence), c.Labels[0])
}

// LabelsText describes with how many labels a method reaches the final error of random, as far
// as the learning curves go.
func (c *Comparison) LabelsText(g Gain) words.Text {
	last := c.Labels[len(c.Labels)-1]
	low, high := g.Labels.Low, g.Labels.High
	switch {
	case c.Fall.Value <= 0:
		return words.Textf("the error of random does not fall")
	case math.IsNaN(g.Labels.Value):
		return words.Textf("more than %d labels, beyond the range of the replay", last)
	case math.IsNaN(high):
		return words.Textf("%.0f of %d labels (%.0f %% interval from %.0f to beyond the range of the replay)", g.Labels.Value,
			last, 100*c.Confidence, low)
	}
	return words.Textf("%.0f of %d labels (%.0f %% interval %.0f to %.0f)", g.Labels.Value, last,
		100*c.Confidence, low, high)
}

// Of moreLabels: the standard normal quantile of four in five, and the multiple of the
// labelled rows beyond which it does not extrapolate.
const (
	fourInFive = 0.8416
	mostTimes  = 10
)

// moreLabels estimates how many more labelled rows would decide between a gain and no
// worthwhile gain, in four of five cases if the true reductions are those measured. Half
// of an interval's width is t standard errors. All parts of the replay grow with the
// table, so widths shrink with the root of the number of labelled rows; the question is
// decided when one interval leaves zero or all leave Worthwhile:
//
//	n' = labelled · (half·(1 + z/t) / distance)²
//
// where z is the normal quantile of 0.8. The result has two significant digits; it is 0
// if more than ten times the labels would be needed.
func moreLabels(reductions []Interval, labelled int, t float64) int {
	factor := rowsToTell(reductions, 1+fourInFive/t)
	if !(factor <= mostTimes) {
		return 0
	}
	more := max(float64(labelled)*(factor-1), 1)
	unit := math.Pow(10, max(0, math.Floor(math.Log10(more))-1))
	return int(math.Ceil(more/unit) * unit)
}

// mostRepeats is the largest number of repeats that moreRepeats suggests.
const mostRepeats = 40

// moreRepeats is the number of splits with which the question would be decided in four of
// five cases, by the same rule as moreLabels, or 0. Widths shrink as pairedInterval says,
// and no further than the correction for shared rows allows.
func (c *Comparison) moreRepeats(reductions []Interval, each float64) int {
	now := student(each, c.Splits) * c.Sizes.errorOfMean(c.Splits)
	for splits := c.Splits + 1; splits <= mostRepeats; splits++ {
		t := student(each, splits)
		if rowsToTell(reductions, t*c.Sizes.errorOfMean(splits)/now*(1+fourInFive/t)) <= 1 {
			return splits
		}
	}
	return 0
}

// rowsToTell is the factor of rows that makes one interval leave zero or all leave
// Worthwhile, if half of their widths, times a scale, falls with the root of the rows.
func rowsToTell(reductions []Interval, scale float64) float64 {
	shown, ruledOut := math.Inf(1), 0.0
	for _, r := range reductions {
		reach := r.half() * scale
		shown = min(shown, times(reach, r.Value))
		ruledOut = max(ruledOut, times(reach, worthwhile-r.Value))
	}
	return min(shown, ruledOut)
}

// times is the factor of rows that shrinks a reach to a distance.
func times(reach, distance float64) float64 {
	if distance <= 0 {
		return math.Inf(1)
	}
	return (reach / distance) * (reach / distance)
}
