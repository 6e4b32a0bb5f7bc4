package learner

import "context"

// Learner is a kind of model that can be fitted: a candidate of the blend.
type Learner interface {
	// Name is a word for messages, such as "gp".
	Name() string
	// Refuses says in a few words why the learner leaves a task of this size to others, such as
	// "it takes at most 8,192 labels"; it is empty where it does not.
	Refuses(rows, inputs int) string
	// CrossFit fits models to the task, such that held-out rows are predicted by models that have
	// not learnt from them. It returns one result for each target; Task.EachTarget helps a learner that
	// takes one. The same task gives the same models, whatever the number of threads.
	CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error)
}

// The names of learners of this package that others mention.
const (
	NetworkName    = "network"
	ProcessName    = "gp"
	ExtraTreesName = "extra-trees"
)

// CrossFitted is what a learner has learnt about a target.
type CrossFitted struct {
	Predictor Predictor
	// Means are predictions for the labelled rows by models that have not learnt from them, and Deviations
	// what these take for the standard deviations of their errors; nil if they predict none.
	Means, Deviations []float64
	// Folds is how many of the folds were held out, from the first on; 0 means all. The rows of
	// the others have no prediction.
	Folds int
	Scale string   // on which the labels were learnt; empty for their own
	Left  string   // why the learner gave up; empty if it did not
	Notes []string // what went wrong without ending the fit, such as a network that diverged
}

// Predictor predicts the labels of a target. It does not change, and may be used by several goroutines.
type Predictor interface {
	// Predict returns a prediction for each row and, if they are wanted, what the model takes for the
	// standard deviations of its errors: nil if it predicts none.
	Predict(ctx context.Context, rows Rows, deviations bool) (means, stds []float64, err error)
}
