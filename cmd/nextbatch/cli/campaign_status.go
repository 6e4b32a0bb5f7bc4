package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
)

// campaignStanding is a run of campaign status.
type campaignStanding struct {
	campaignFlags
	json bool
}

func newCampaignStatus() *cobra.Command {
	s := &campaignStanding{}
	c := &cobra.Command{
		Use:     "status STORE",
		Short:   "Show where a campaign stands",
		Example: "  nextbatch campaign status c.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(c *campaign.Campaign) error {
				return s.run(cmd.Context(), c, cmd.OutOrStdout())
			})
		},
	}
	c.Flags().BoolVar(&s.json, "json", false, "print one JSON object")
	s.registerName(c)
	return c
}

// campaignStatus is what status prints as JSON.
type campaignStatus struct {
	Campaign string `json:"campaign"`
	campaign.Counts
	Targets []string         `json:"targets"`
	Events  int64            `json:"events"`
	Asks    int              `json:"asks"`
	Noise   []campaign.Noise `json:"noise"` // of each target
}

func (s *campaignStanding) run(ctx context.Context, c *campaign.Campaign, out io.Writer) error {
	state, err := c.State(ctx)
	if err != nil {
		return err
	}
	status := campaignStatus{Campaign: c.Name(), Counts: state.Counts(), Targets: state.Created.Targets, Events: state.Seq, Asks: len(state.Asks), Noise: state.Noise()}
	if s.json {
		return printJSON(out, status)
	}
	fmt.Fprintf(out, "campaign  %s\n", shown(status.Campaign))
	fmt.Fprintf(out, "rows      %d: %d open, %d asked, %d labelled, %d failed, %d retired\n", status.Rows, status.Open, status.Asked, status.Labelled, status.Failed, status.Retired)
	return nil
}
