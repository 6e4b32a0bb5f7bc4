package estimate

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Stop rules. "rmse<0.5" holds once the upper limit of the error is below the wanted
// one, and fails while the lower limit is above it; in between it is too early to tell.
// So a campaign that stops has reached its error, except in one case in twenty.
//
// "gain<2%" is about the share by which a tenth more labels lower the RMSE, 1 − 1.1^b with
// the slope b of the learning curve. It holds once the upper limit of that share is below
// the wanted one, fails while the lower limit is above it, and is too early to tell in
// between. The increase is a fixed share of the labels, not a batch: the error changes as a
// power of the number of labels, so a batch brings the less the smaller it is, and a rule
// about batches would say stop in a campaign with small ones and go on in the same campaign
// with large ones. It is also too early as long as the error itself is hardly known, which a wrong
// label can cause, or the curve is short.

// StopRule determines when a campaign has enough labels. The zero value never stops one.
type StopRule struct {
	Target string  // that the rule is about; empty means each
	Metric Metric  // of the error; empty means the gain of MoreLabels
	Below  float64 // the error, in the units of the label, or the gain as a share
}

// DefaultRule is the stop rule of a campaign that has none. docs/maintaining.md says how the share was chosen.
var DefaultRule = StopRule{Below: 0.02}

// MoreLabels is the relative increase in labels whose gain a rule
// such as gain<2% is about.
const MoreLabels = 0.1

// leastSpan is how many times the labels of the smallest model that the curve is based on a campaign has before a rule
// about the gain may stop it. Some curves begin flat and fall later.
const leastSpan = 3

// StopRuleError reports a text that is not a stop rule.
type StopRuleError struct{ Text, Problem string }

func (e *StopRuleError) Error() string {
	return fmt.Sprintf("stop rule %q: %s; write rmse<0.5, mae<0.5, q95<0.5 (in the units of the label), gain<2%%, or "+
		"rmse(NAME)<0.5 for one of several targets", e.Text, e.Problem)
}

var stopRule = regexp.MustCompile(`^\s*([A-Za-z0-9]+)\s*(?:\((.*)\))?\s*<\s*([^\s%]+)\s*(%?)\s*$`)

// ParseStopRule reads a rule such as rmse<0.5, q95(yield)<2 or gain<2%. The error is a
// *StopRuleError.
func ParseStopRule(text string) (StopRule, error) {
	refuse := func(format string, args ...any) (StopRule, error) {
		return StopRule{}, &StopRuleError{text, fmt.Sprintf(format, args...)}
	}
	parts := stopRule.FindStringSubmatch(text)
	if parts == nil {
		return refuse("it is not of the form NAME<NUMBER")
	}
	name, percent := strings.ToLower(parts[1]), parts[4] != ""
	below, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || math.IsInf(below, 0) || !(below > 0) {
		return refuse("%q is not a positive number", parts[3])
	}
	r := StopRule{Target: strings.TrimSpace(parts[2]), Metric: Metric(name), Below: below}
	switch r.Metric {
	case RMSE, MAE, Q95:
		if percent {
			return refuse("an error is in the units of the label, not in %%")
		}
		return r, nil
	case "gain":
		if percent {
			r.Below /= 100
		}
		if r.Metric = ""; r.Below >= 1 {
			return refuse("no labels can gain 100 %%")
		}
		return r, nil
	}
	return refuse("there is no measure %q", parts[1])
}

// String returns the text that parses to the rule; empty for the zero value.
func (r StopRule) String() string {
	if r == (StopRule{}) {
		return ""
	}
	target := ""
	if r.Target != "" {
		target = "(" + r.Target + ")"
	}
	if r.Metric == "" {
		return fmt.Sprintf("gain%s<%s%%", target, strconv.FormatFloat(100*r.Below, 'g', 10, 64))
	}
	return fmt.Sprintf("%s%s<%v", r.Metric, target, r.Below)
}

// Concerns reports whether the rule is about a target.
func (r StopRule) Concerns(target string) bool { return r.Target == "" || r.Target == target }

// Verdict is the answer of a stop rule.
type Verdict string

// The verdicts.
const (
	Stop     Verdict = "stop"
	GoOn     Verdict = "go on"
	TooEarly Verdict = "too early to tell"
)

// Advice is a verdict and its reason, in words.
type Advice struct {
	Verdict Verdict    `json:"verdict" enum:"stop,go on,too early to tell"`
	Because words.Text `json:"because"`
	Audits  int        `json:"audits,omitempty" doc:"where it is too early to tell, about how many more audit rows would tell; absent if that is not known"`
}

func (a Advice) String() string { return a.Text().String() }

// Text is the verdict and its reason in a line.
func (a Advice) Text() words.Text { return words.Textf("%s: %v", a.Verdict, a.Because) }

// Judge applies the rule to one target of a campaign in which that many rows can have a label. The
// curve is nil where too few random rows are labelled.
func (r StopRule) Judge(c *Curve, rows int) Advice {
	switch {
	case c == nil:
		return Advice{Verdict: TooEarly,
			Because: words.Textf("fewer than %d of the labelled rows were drawn at random, and only these show the error",
				LeastAudited)}
	case r == (StopRule{}):
		return Advice{Verdict: GoOn, Because: words.Textf("there is no stop rule")}
	case r.Metric == "":
		return r.judgeGain(c, rows)
	}
	e, below := c.Error(r.Metric), words.Num(words.Grouped(r.Below))
	is := words.Textf("the %s is %v", r.Metric.words(), e)
	switch {
	case e.High < r.Below:
		return Advice{Verdict: Stop, Because: words.Textf("%v, below %s", is, below)}
	case e.Low >= r.Below:
		return Advice{Verdict: GoOn, Because: words.Textf("%v, above %s; %v", is, below,
			c.Forecast(r.Metric, r.Below, 0, rows))}
	case e.Value < r.Below:
		more := moreRows(c.Rows, math.Log(e.High/e.Value), math.Log(r.Below/e.Value), 0)
		return tooEarly(words.Textf("%v, probably below %s, but not certainly", is, below), more, rows-c.Labels)
	}
	return Advice{Verdict: TooEarly, Because: words.Textf("%v, probably above %s, but not certainly; %v", is,
		below, c.Forecast(r.Metric, r.Below, 0, rows))}
}

func (r StopRule) judgeGain(c *Curve, rows int) Advice {
	gain, wanted := c.Gain(), 100*r.Below
	is := words.Textf("%.0f %% more labels would lower the RMSE by %s %% (%s to %s %%)", 100*MoreLabels,
		words.Num(words.Brief(100*gain.Value)), words.Num(words.Brief(100*gain.Low)), words.Num(words.Brief(100*gain.High)))
	switch {
	case gain.High < r.Below && c.RMSE.High > widest*c.RMSE.Low:
		more := moreRows(c.Rows, math.Log(c.RMSE.High/c.RMSE.Low), math.Log(widest), 0)
		return tooEarly(words.Textf("%v, but the RMSE itself, %v, is hardly known", is, c.RMSE), more, rows-c.Labels)
	case gain.High < r.Below && c.Labels < leastSpan*c.first:
		return Advice{Verdict: TooEarly,
			Because: words.Textf(
				"%v, which is less than %.3g %%, but the curve begins at %d labels and some begin flat; %d labels would tell", is,
				wanted, c.first, leastSpan*c.first)}
	case gain.High < r.Below:
		return Advice{Verdict: Stop, Because: words.Textf("%v, which is less than %.3g %%", is, wanted)}
	case gain.Low >= r.Below:
		return Advice{Verdict: GoOn, Because: words.Textf("%v, which is more than %.3g %%", is, wanted)}
	}
	// In terms of the slope, whose uncertainty has two sources, the rows and the prior.
	limit, probably := math.Log1p(-r.Below)/math.Log1p(MoreLabels), "less"
	reach := c.Slope.Value - c.Slope.Low
	if gain.Value >= r.Below {
		reach, probably = c.Slope.High-c.Slope.Value, "more"
	}
	more := moreRows(c.Rows, reach, math.Abs(c.Slope.Value-limit), priorDeviation*stats.NormalQuantile((1+Coverage)/2))
	return tooEarly(words.Textf("%v, probably %s than %.3g %%, but not certainly", is, probably,
		wanted), more, rows-c.Labels)
}

// moreRows returns about how many further random rows make one side of an interval as short as wanted. The square of
// its length is inversely proportional to the number of rows; a prior, whose own side is given unless there is none,
// adds to the rows.
func moreRows(rows int, side, wanted, prior float64) float64 {
	known := 0.0
	if prior > 0 {
		known = 1 / (prior * prior)
	}
	each := (1/(side*side) - known) / float64(rows)
	if !(each > 0) {
		return math.Inf(1)
	}
	return max(1, (1/(wanted*wanted)-known)/each-float64(rows))
}

// tooEarly is the verdict between the limits, with the random rows that would tell, unless the campaign has too few.
func tooEarly(is words.Text, more float64, open int) Advice {
	if more > float64(open) {
		return Advice{Verdict: TooEarly, Because: words.Textf(
			"%v; the open rows are too few to tell, even if all of them were audit rows", is)}
	}
	digits := math.Pow(10, max(0, math.Floor(math.Log10(more)))) // one counts
	n := int(math.Ceil(more/digits) * digits)
	return Advice{Verdict: TooEarly, Because: words.Textf("%v; about %v would tell", is,
		words.Counted(n, "more audit row", "more audit rows")), Audits: n}
}

// Gain returns the share by which MoreLabels lowers the RMSE; 0 where the error seems to rise.
func (c *Curve) Gain() Interval {
	return over(c.grids[RMSE], func(s scenario) float64 { return max(0, -math.Expm1(s.slope*math.Log1p(MoreLabels))) })
}

// Together returns the advice for a campaign with several targets: it stops when every
// target may stop.
func Together(targets []string, advice []Advice) Advice {
	for _, v := range []Verdict{GoOn, TooEarly, Stop} {
		var because []words.Text
		for i, a := range advice {
			if a.Verdict == v {
				because = append(because, words.Textf("%s: %v", targets[i], a.Because))
			}
		}
		if because != nil {
			return Advice{Verdict: v, Because: words.Joined(because, "; ")}
		}
	}
	return Advice{Verdict: GoOn, Because: words.Textf("the stop rule concerns no target")}
}
