package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/spec"
)

// settingFlags are the settings of a campaign. Flags that are not on the command line
// leave their setting as it is.
type settingFlags struct {
	to           campaign.Settings // but for what is spelt otherwise
	audit, lease string
	limits       limitFlags
	net          networkFlags

	flags *pflag.FlagSet
}

func (f *settingFlags) register(c *cobra.Command) {
	f.flags = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	s := f.flags
	s.IntVarP(&f.to.Batch, "batch", "n", campaign.DefaultBatch, "rows of an ask that does not say how many")
	registerLearner(s, &f.to.Learner)
	s.StringVar(&f.to.Spec, "method", "", "the method, see 'nextbatch specs' (default that of the learner)")
	s.StringVar(&f.audit, "audit", words.Share(campaign.DefaultAudit),
		"share of audit rows in each batch: a fraction or a number from 0 to 1")
	s.StringVar(&f.lease, "lease", daysText(campaign.DefaultLease),
		"how long the rows of an ask are out, such as 36h, 7d or 2w; never for no end")
	s.BoolVar(&f.to.Latest, "latest", false,
		"the label of a row that was measured several times is the latest, not the mean")
	s.BoolVar(&f.to.RandomStart, "random-start", false,
		"the rows with a label at the start were drawn at random, so that errors are estimated from them, too")
	s.Float64SliceVar(&f.to.Weights, "weights", nil, "weights of several targets, in their order (default all the same)")
	registerRange(s, &f.to.Ranges)
	registerKeep(s, &f.to.Keep)
	f.limits.register(s)
	f.net.registerChoice(s, "seed of networks, methods and audit rows")
	f.net.registerMembers()
	c.Flags().AddFlagSet(s)
}

// given reports whether any of the flags is on the command line.
func (f *settingFlags) given() (some bool) {
	f.flags.VisitAll(func(flag *pflag.Flag) { some = some || flag.Changed })
	return some
}

// apply puts the flags on the command line into the settings, and checks these.
func (f *settingFlags) apply(s *campaign.Settings) (err error) {
	config, err := f.net.config()
	set := map[string]func(){
		"batch":      func() { s.Batch = f.to.Batch },
		"audit":      func() { s.Audit, err = orShare(f.audit, err) },
		"lease":      func() { s.Lease, err = orLease(f.lease, err) },
		"budget":     func() { s.Budget = &f.limits.budget },
		"activation": func() { s.Network.Architecture.Activation = config.Architecture.Activation },
		"epochs":     func() { s.Network.Training.Epochs = config.Training.Epochs },
		"hidden":     func() { s.Network.Architecture.Hidden = config.Architecture.Hidden },
		"ensemble":   func() { s.Members = f.net.Members },
		"seed":       func() { s.Seed, s.Network.Seed = f.net.seed, f.net.seed },
	}
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if do, own := set[flag.Name]; own && flag.Changed {
			do()
		}
	})
	rest := func(option string) bool {
		name := ofOption(option)
		return set[name] == nil && f.flags.Changed(name)
	}
	options.Copy(s, &f.to, rest)
	options.Copy(s, &f.limits, rest)
	switch {
	case err != nil:
		return err
	case f.flags.Changed("batch") && f.to.Batch < 1:
		return usagef("-n (--batch) must be at least 1, not %d", f.to.Batch)
	}
	if err := f.net.checkLearner(s.Learner); err != nil {
		return err
	}
	if s.Spec != "" {
		if _, err := spec.Parse(s.Spec); err != nil {
			return err // with a caret at the place
		}
	}
	if err := s.CheckNamed(options.Flag); err != nil {
		return usageError{err}
	}
	return nil
}

func orShare(text string, before error) (*float64, error) {
	share, err := parseShare(text)
	if before != nil {
		return nil, before
	}
	return &share, err
}

// parseShare reads a share of audit rows: 1/8 or 0.125.
func parseShare(text string) (float64, error) {
	share, err := campaign.ParseShare(text)
	if err != nil {
		return 0, usagef("--audit is %q; it must be a share from 0 to 1, such as 1/8 or 0.125", text)
	}
	return float64(share), nil
}

func orLease(text string, before error) (campaign.Duration, error) {
	lease, err := parseLease(text)
	if before != nil {
		return 0, before
	}
	return campaign.Duration(lease), err
}

const day = 24 * time.Hour

// daysText returns a lease in days, where it is whole ones.
func daysText(lease time.Duration) string {
	if lease%day == 0 {
		return fmt.Sprintf("%dd", lease/day)
	}
	return lease.String()
}

// parseLease reads how long rows are out, as options.ParseLease does, but for negative times.
func parseLease(text string) (time.Duration, error) {
	lease, err := options.ParseLease(text)
	if err == nil && (lease > 0 || text == "never") {
		return lease, nil
	}
	return 0, usagef("--lease is %q; it must be a time such as 36h, 7d or 2w, or never", text)
}
