package wire

import (
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/learner"
)

// CampaignStatus is what 'nextbatch campaign status --json' prints: what a standing has, where worker and service
// send a campaign.Standing as it is, and what About has, in a shape that is older than both. Error, interval and
// forecast are those of the only target; with several, those in the list have them.
type CampaignStatus struct {
	Campaign string `json:"campaign"`
	campaign.Counts
	Learner  learner.Kind       `json:"learner,omitempty"` // what is fitted; absent for a network alone
	Error    *fitted.Float      `json:"error"`             // RMSE of the current model
	Interval *[2]fitted.Float   `json:"interval"`          // that holds it with the probability of coverage
	Coverage fitted.Float       `json:"coverage"`
	ErrorOf  string             `json:"error_of"` // on which rows the error is estimated, or why there is none
	Forecast *estimate.Forecast `json:"forecast"`
	Advice   estimate.Advice    `json:"advice"`
	Rule     string             `json:"stop"`
	Targets  []TargetStatus     `json:"targets"`
	// Doubtful are the labels that wait for a second look, the oldest first.
	Doubtful []campaign.Waiting      `json:"doubtful"`
	Model    *campaign.ModelStanding `json:"model"` // of the last ask; null before one had a model
	Created  time.Time               `json:"created"`
	Events   int64                   `json:"events"`
	Asks     int                     `json:"asks"`
	Version  string                  `json:"version"`
}

// TargetStatus is a target, and what its error is of.
type TargetStatus struct {
	campaign.TargetStanding
	ErrorOf string `json:"error_of"`
}

// RunSummary is what 'nextbatch campaign run --json' prints.
type RunSummary struct {
	Campaign string `json:"campaign"`
	*campaign.RunResult
	Counts  campaign.Counts `json:"counts"` // of the campaign, afterwards
	Seconds fitted.Float    `json:"seconds"`
}
