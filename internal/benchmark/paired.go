package benchmark

import (
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/internal/stats"
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
func ReductionText(reduction Interval, confidence float64) string {
	low, high := changeText(reduction.Low), changeText(reduction.High)
	if reduction.High < 0 {
		low, high = high, low // the smaller change first
	}
	for _, side := range []string{" % lower", " % higher"} {
		a, sameLow := strings.CutSuffix(low, side)
		b, sameHigh := strings.CutSuffix(high, side)
		if sameLow && sameHigh {
			low, high = a, b+" %"
		}
	}
	return fmt.Sprintf("%s (%.0f %% interval %s to %s)", changeText(reduction.Value), 100*confidence, low, high)
}

// changeText words one reduction of log error. It compares ratios, which are positive
// and may overflow to infinity.
func changeText(reduction float64) string {
	switch ratio := math.Exp(-reduction); {
	case ratio > 10:
		return "over 10 times as high"
	case ratio > 2:
		return fmt.Sprintf("%.1f times as high", ratio)
	case ratio >= 1:
		return percentText(ratio-1) + " higher"
	case ratio < 0.01:
		return "over 99 % lower"
	default:
		return percentText(1-ratio) + " lower"
	}
}

// percentText shows small shares with one digit after the point.
func percentText(share float64) string {
	if share < 0.0095 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
