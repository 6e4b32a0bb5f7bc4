package estimate

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// RecordDir is the folder of the recordings.
var RecordDir = flag.String("record-dir", "", "folder of the recordings of TestSoakRecordCampaigns")

// RecordStart is how many random rows a recorded campaign starts with, its first ones.
const RecordStart = 64

// Recording is what a campaign on a table whose labels are all known has recorded, and the errors that its models make
// on rows that it does not have. TestSoakRecordCampaigns writes recordings, and TestSoakStop judges rules and forecasts
// by them.
type Recording struct {
	Table   string        `json:"table"`
	Learner string        `json:"learner"`
	Wrong   float64       `json:"wrong"` // share of the labels with a slip
	Look    bool          `json:"look"`  // labels get a second look, and those in doubt wait
	Seed    uint64        `json:"seed"`
	Rows    int           `json:"rows"`    // of the campaign
	Waiting int           `json:"waiting"` // labels that wait at the end
	Asks    []RecordedAsk `json:"asks"`
}

// RecordedAsk is what one ask adds to what is known, and the truth about its model.
type RecordedAsk struct {
	Labels int     `json:"labels"`
	RMSE   float64 `json:"rmse"` // on the test rows, with their true labels
	// of the blend, on all labelled rows, each for as many open rows as it stands for
	CrossFitted float64         `json:"cross_fitted"`
	HeldOut     []RecordedError `json:"held_out"`
	Audited     []RecordedError `json:"audited"` // rows of this ask; their labels come after it
}

// RecordedError is a prediction and the label that was told, which may be wrong.
type RecordedError struct {
	Row        int64   `json:"row"`
	Labels     int     `json:"labels"`
	Prediction float64 `json:"prediction"`
	Label      float64 `json:"label"`
}

// Write keeps the recording in a folder.
func (r *Recording) Write(t *testing.T, path string) {
	t.Helper()
	text, err := json.Marshal(r)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Recorded reports whether a file is there.
func Recorded(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
