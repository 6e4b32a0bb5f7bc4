package campaign

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Stop rules. "rmse<0.5" holds once the upper limit of the error is below the wanted
// one, and fails while the lower limit is above it; in between it is too early to tell.
// So a campaign that stops has reached its error, except in one case in twenty. "gain<1%"
// holds once the next batch, of m rows after n labels, is expected to lower the RMSE by
// less than this share, 1 − (1 + m/n)^b with the median of the slope b.

// StopRule determines when a campaign has enough labels. The zero value never stops one.
type StopRule struct {
	Target string  // that the rule is about; empty means each
	Metric Metric  // of the error; empty means the gain of the next batch
	Below  float64 // the error, in the units of the label, or the gain as a share
}

// StopRuleError reports a text that is not a stop rule.
type StopRuleError struct{ Text, Problem string }

func (e *StopRuleError) Error() string {
	return fmt.Sprintf("stop rule %q: %s; write rmse<0.5, mae<0.5, q95<0.5 (in the units of the label), gain<1%%, or rmse(NAME)<0.5 for one of several targets", e.Text, e.Problem)
}

var stopRule = regexp.MustCompile(`^\s*([A-Za-z0-9]+)\s*(?:\((.*)\))?\s*<\s*([^\s%]+)\s*(%?)\s*$`)

// ParseStopRule reads a rule such as rmse<0.5, q95(yield)<2 or gain<1%. The error is a
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
			return refuse("no batch can gain 100 %%")
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

// concerns reports whether the rule is about a target.
func (r StopRule) concerns(target string) bool { return r.Target == "" || r.Target == target }

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
	Verdict Verdict `json:"verdict" enum:"stop,go on,too early to tell"`
	Because string  `json:"because"`
}

func (a Advice) String() string { return string(a.Verdict) + ": " + a.Because }

// Judge applies the rule to one target, before the next batch, of the given size. The
// curve is nil where too few random rows are labelled.
func (r StopRule) Judge(c *Curve, batch int) Advice {
	switch {
	case c == nil:
		return Advice{TooEarly, fmt.Sprintf("fewer than %d of the labelled rows were drawn at random, and only these show the error", LeastAudited)}
	case r == (StopRule{}):
		return Advice{GoOn, "there is no stop rule"}
	case r.Metric == "":
		return r.judgeGain(c, batch)
	}
	e := c.Error(r.Metric)
	is := fmt.Sprintf("the %s is %v", r.Metric.words(), e)
	switch {
	case e.High < r.Below:
		return Advice{Stop, fmt.Sprintf("%s, below %v", is, r.Below)}
	case e.Low >= r.Below:
		return Advice{GoOn, fmt.Sprintf("%s, above %v; %s", is, r.Below, c.forecast(r.Metric, r.Below, 0))}
	case e.Value < r.Below:
		return Advice{TooEarly, fmt.Sprintf("%s, probably below %v, but not certainly; more random rows would tell", is, r.Below)}
	}
	return Advice{TooEarly, fmt.Sprintf("%s, probably above %v, but not certainly; %s", is, r.Below, c.forecast(r.Metric, r.Below, 0))}
}

func (r StopRule) judgeGain(c *Curve, batch int) Advice {
	gain := c.gain(batch)
	is := fmt.Sprintf("the next %d labels are expected to lower the RMSE by %.2g %% (%.2g to %.2g %%)", batch, 100*gain.Value, 100*gain.Low, 100*gain.High)
	if gain.Value < r.Below {
		return Advice{Stop, fmt.Sprintf("%s, which is less than %.3g %%", is, 100*r.Below)}
	}
	return Advice{GoOn, is}
}

// gain returns the share by which the next batch, of the given size, lowers the RMSE; 0 where
// the error seems to rise.
func (c *Curve) gain(batch int) Interval {
	x := math.Log1p(float64(batch) / float64(c.Labels))
	return over(c.grids[RMSE], func(s scenario) float64 { return max(0, -math.Expm1(s.slope*x)) })
}

// together returns the advice for a campaign with several targets: it stops when every
// target may stop.
func together(targets []string, advice []Advice) Advice {
	for _, v := range []Verdict{GoOn, TooEarly, Stop} {
		var because []string
		for i, a := range advice {
			if a.Verdict == v {
				because = append(because, targets[i]+": "+a.Because)
			}
		}
		if because != nil {
			return Advice{v, strings.Join(because, "; ")}
		}
	}
	return Advice{GoOn, "the stop rule concerns no target"}
}
