package benchmark

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Intervals of paired differences over repeated random splits.
//
// On split j of J, two methods start from the same rows with the same network seeds
// and are measured on the same test rows; d_j is the difference of the logarithms of
// their errors. The splits share rows, so the d_j are correlated, and s/√J is too
// small an error for their mean. With the correlation test/(test+learn), the share of
// the rows that two test sets have in common, the variance of the mean is
// s²·(1/J + test/learn), and the interval at confidence 1 − α is
//
//	d̄ ± t(1 − α/2, J−1) · s · √(1/J + test/learn)
//
// where s is the standard deviation of the d_j and t a quantile of Student's
// distribution: the corrected resampled t-test of Nadeau and Bengio, "Inference for
// the Generalization Error", Machine Learning 52 (2003).
//
// A difference of logarithms is a ratio of geometric-mean errors, so its interval can
// be as wide as it likes without claiming an error below zero.

// Interval is an estimate with confidence limits.
type Interval struct{ Value, Low, High float64 }

// half is half the width.
func (i Interval) half() float64 { return (i.High - i.Low) / 2 }

// SplitSizes is how many rows each split holds out for testing, and how many it
// leaves to learn from.
type SplitSizes struct{ Test, Learn int }

// pairedInterval returns the mean of the differences, one per split, with the limits of
// the formula above. With fewer than two differences the limits are infinite.
func pairedInterval(differences []float64, sizes SplitSizes, confidence float64) Interval {
	mean, deviation := stats.MeanStdDev(differences)
	if len(differences) < 2 {
		return Interval{mean, math.Inf(-1), math.Inf(1)}
	}
	half := student(confidence, len(differences)) * deviation * sizes.errorOfMean(len(differences))
	return Interval{mean, mean - half, mean + half}
}

// errorOfMean is the standard error of a mean over splits in units of the deviation s.
func (z SplitSizes) errorOfMean(splits int) float64 {
	return math.Sqrt(1/float64(splits) + float64(z.Test)/float64(z.Learn))
}

// student is the quantile of Student's t for a two-sided interval over some splits.
func student(confidence float64, splits int) float64 {
	return stats.StudentsT{Sigma: 1, Nu: float64(splits - 1)}.Quantile((1 + confidence) / 2)
}

// eachOf is the confidence of each of several intervals that hold together with the
// given one, whatever their correlation (Bonferroni).
func eachOf(confidence float64, intervals int) float64 {
	return 1 - (1-confidence)/float64(intervals)
}

// ReductionText words a reduction of log error as a change of the error, such as
// "12 % lower (90 % interval 5 to 19 %)". What exceeds a factor of ten is not spelled
// out.
func ReductionText(reduction Interval, confidence float64) words.Text {
	low, high := changeOf(reduction.Low), changeOf(reduction.High)
	if reduction.High < 0 {
		low, high = high, low // the smaller change first
	}
	from, to := low.Text(), high.Text()
	if low.side != "" && low.side == high.side {
		from, to = words.Textf("%s", low.share), words.Textf("%s %%", high.share)
	}
	return words.Textf("%v (%.0f %% interval %v to %v)", changeOf(reduction.Value), 100*confidence, from, to)
}

// change is a change of the error: the percentage by which it is higher or lower, or a text.
type change struct {
	share words.Num
	side  string // empty for a text
	other words.Text
}

func (c change) Text() words.Text {
	if c.side == "" {
		return c.other
	}
	return words.Textf("%s %% %s", c.share, c.side)
}

// changeOf words one reduction of log error. It compares ratios, which are positive
// and may overflow to infinity.
func changeOf(reduction float64) change {
	switch ratio := math.Exp(-reduction); {
	case ratio > 10:
		return change{other: words.Textf("over 10 times as high")}
	case ratio > 2:
		return change{other: words.Textf("%.1f times as high", ratio)}
	case ratio >= 1:
		return change{share: percentage(ratio - 1), side: "higher"}
	case ratio < 0.01:
		return change{share: "over 99", side: "lower"}
	default:
		return change{share: percentage(1 - ratio), side: "lower"}
	}
}

// percentage writes a share as a percentage, a small one with a digit after the point.
func percentage(share float64) words.Num {
	if share < 0.0095 {
		return words.Num(fmt.Sprintf("%.1f", 100*share))
	}
	return words.Num(fmt.Sprintf("%.0f", 100*share))
}
