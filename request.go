package nextbatch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kept"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/plate"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Request asks for a batch in the terms of a user: tables with named columns, ids of
// rows, a budget. Plan checks it and turns it into a problem; Plan.Select answers with
// the ids of the rows to label. The command line uses this; Select is for callers who
// already have matrices and networks.
//
// The input is one of three: Table, where a missing label means unlabelled; Train and
// Pool; or the user's own features.
type Request struct {
	// Table holds labelled rows and candidates; or Train the former, Pool the
	// latter. Without Train, there is a Model, or no row has a label yet.
	Table, Train, Pool *dataset.Table
	// Decimal is the decimal mark of numbers in reasons; 0 means that of the file the candidates come from.
	Decimal byte
	// Aims are rows of the target distribution, which the batch should represent, if it
	// is not that of the pool.
	Aims *dataset.Table
	// TableNames are the names of the tables in messages, such as their files.
	TableNames tables.Names

	// OwnFeatures means that the input is the user's own features instead of tables:
	// in Features or, for a spec that computes in float64 (spec.Spec.ComputesInDouble),
	// in Exact. Rows are then named by number, and no network is trained. With the kernel predictions, the features of a
	// row are what the members of an ensemble predict for it.
	OwnFeatures bool
	Features    Sets[float32]
	Exact       Sets[float64]

	TargetColumns []string // hold the labels; a row with a label in any of them is a labelled row
	tables.Columns
	IDColumn     string // names the rows; without it they are numbered from 0
	RandomColumn string // marks the labelled rows that were drawn from the pool at random: see Metrics.PoolRMSE
	// Random says the same of each row of Table, for callers that know it without a column. Intervals rely on these rows.
	Random  []bool
	Missing tables.Missing // how missing inputs are handled

	// Spec is the method. The zero value means spec.Default; lcmd with OwnFeatures; and
	// lcmd on the inputs as long as too few rows have a label to train a network.
	Spec  spec.Spec
	Batch int // rows to pick; 0 means as many as fit into Budget
	Choices
	// KernelSeed, unless nil, is the seed of sketches and other random features (Problem).
	KernelSeed *uint64
	// Kept, unless nil, keeps features from one plan to the next that uses the same network,
	// kernel and KernelSeed. It is not used where Admit has no memory for it.
	Kept *kept.Features

	Limits
	// Repeated, unless nil, are the labelled rows of the batch that are measured once more. Nil means that the plan chooses
	// them, by ReplicateShare.
	Repeated *Repeated

	Layout  plate.Layout // wells of plates for the measurements of the batch
	Pending []string     // rows that are out being labelled, by name (Problem.Pending)
	Must    []string     // rows that must be in the batch, by name
	Exclude []string     // rows that may not be picked, by name

	Trainer network.Trainer // nil means network.OnDevice
	// Model is a fitted model to use instead of training one. It must know its columns.
	Model     *learner.Model
	ModelName string // in messages, such as its file
	// Foreign is a network that was trained elsewhere, to use instead of training one.
	Foreign *Foreign

	// Given are further candidates of a blend, which were fitted elsewhere.
	Given []Given

	// RowName is that of Problem, for the user's own features.
	RowName func(row int) string
	// FieldName returns the name of a field in messages, such as the flag of a program.
	// Nil means its Go name.
	FieldName func(field string) string
	// Admit, unless nil, is called before the tables are encoded, with the forecast of
	// memory in bytes and with changes that would need less. Its error ends the plan.
	Admit func(bytes int64, less ...string) error
	// Output, unless nil, returns how many bytes the caller will hold in addition to a
	// selection of these sizes.
	Output func(forecast.Sizes) int64

	// Folder is where the inputs and the features of the candidates go, into temporary files,
	// if Admit allows the rest in memory but not these (Problem.Folder); without it
	// such a request ends with the error of Admit. InFile means that the pool of Features or Exact
	// is already mapped from a file; for a spec that computes in float64, the pool may then
	// be that of Features, beside train and target in Exact. The batch is the same in memory
	// and in files.
	Folder string
	InFile bool
	// Streams means that the caller only iterates over features (EachFeatures).
	Streams bool

	// Ranks are the processes that share the work, and Shared is the number of rows of the
	// whole pool if they hold shares of the features (Problem.Ranks).
	Ranks  selection.Ranks
	Shared int

	// Fitting is called before each fit of a model of a blend, unless nil (learner.Options.Shown).
	Fitting  func(learner string, fold, folds int)
	Epoch    func(network.Epoch) // called after each epoch of training, unless nil
	Progress func(Progress)      // called while rows are embedded and picked, unless nil
}

// Given is a learner that was fitted elsewhere, by its predictions (learner.Given). Held are those for the rows of the table that
// holds the labelled rows, by models that have not learnt from the row, and Pool those for the rows of the table of
// candidates. They have a column for each target; entries of rows that have no label, or that are no candidates, have
// no meaning.
type Given struct {
	Name       string
	Held, Pool matrix.Dense[float64]
}

// Choices are what users choose about models and about chance. Requests and the settings of a campaign have them.
type Choices struct {
	// Learner is the model to fit: the zero value means the paper's network.
	Learner learner.Kind   `json:"learner,omitempty"`
	Network network.Config `json:"network"`
	Members int            `json:"members,omitempty"` // networks to train; 0 means as many as the spec needs
	Seed    uint64         `json:"seed"`              // of methods; that of networks is in Network
}

// Limits are conditions on the batch as a whole: what it may cost, how many rows of a group it may have, which rows share
// a value, and what is measured more than once. Requests and the settings of a campaign have them.
type Limits struct {
	CostColumn   string   `json:"cost_column,omitempty"`
	Budget       *float64 `json:"budget,omitempty"`   // most that one batch may cost; needs CostColumn
	PerCost      bool     `json:"per_cost,omitempty"` // divide the scores of rows by their costs; needs CostColumn
	GroupColumn  string   `json:"group_column,omitempty"`
	PerGroup     int      `json:"per_group,omitempty"`      // most rows of any group in one batch; needs GroupColumn
	MinPerGroup  int      `json:"min_per_group,omitempty"`  // fewest rows of every group with candidates or, with MaxGroups, of each group in the batch
	MaxGroups    int      `json:"at_most_groups,omitempty"` // most groups that one batch has rows of
	GroupIsInput bool     `json:"group_is_input,omitempty"` // the groups are learnt from, too

	// Same are columns whose values all rows of a run share. A batch is Runs runs of equally many rows (one more in
	// the first ones, if the number does not divide the batch); 0 means one run.
	Same []string `json:"same,omitempty"`
	Runs int      `json:"runs,omitempty"`

	// Replicates is how often each pick is measured: a batch of 96 with three replicates has 32 rows. ReplicateShare
	// is the share of the batch that measures labelled rows once more. The size of the batch and the budget count measurements.
	Replicates     int     `json:"replicates,omitempty"` // 0 means once
	ReplicateShare float64 `json:"replicate_share,omitempty"`
}

// Repeated are labelled rows that the caller of a plan has chosen to measure once more: how many, and what they cost.
type Repeated struct {
	Rows int
	Cost float64
}

// RequestError reports a request that contradicts itself or cannot be met.
type RequestError struct{ Reason string }

func (e *RequestError) Error() string { return e.Reason }

// DataError reports rows of a request that cannot be used.
type DataError struct{ Cause error }

func (e *DataError) Error() string { return e.Cause.Error() }
func (e *DataError) Unwrap() error { return e.Cause }

func refuse(format string, args ...any) error {
	return &RequestError{fmt.Sprintf(format, args...)}
}

func unusableData(format string, args ...any) error { return &DataError{fmt.Errorf(format, args...)} }

// named returns the name of a field in messages.
func (r *Request) named(field string) string {
	if r.FieldName == nil {
		return field
	}
	return r.FieldName(field)
}

// pool and train are the tables that hold the candidates and the labelled rows.
func (r *Request) pool() *dataset.Table {
	if r.Table != nil {
		return r.Table
	}
	return r.Pool
}

// decimal is the decimal mark of numbers in reasons.
func (r *Request) decimal() byte { return cmp.Or(r.Decimal, r.pool().Origin().Decimal) }

func (r *Request) train() *dataset.Table {
	if r.Table != nil {
		return r.Table
	}
	return r.Train
}

// tableName returns the name of a table in messages.
func (r *Request) tableName(t *dataset.Table, otherwise string) string {
	return r.TableNames.Of(t, otherwise)
}

// WithDefaults returns the request with its spec filled in.
func (r Request) WithDefaults() Request {
	if r.Spec.Method != "" {
		return r
	}
	switch {
	case r.OwnFeatures:
		r.Spec = FeaturesSpec(r.Features.Train.Rows+r.Exact.Train.Rows > 0)
	case r.starts():
		r.Spec = spec.MustParse(r.firstSpec())
	default:
		r.Spec = spec.MustParse(r.defaultSpec())
	}
	return r
}

// defaultSpec returns the method for the learner.
func (r *Request) defaultSpec() string {
	switch {
	case r.Foreign != nil:
		return spec.Default
	case r.Model != nil && r.Model.Kind() == learner.Auto && len(r.Model.Ensemble()) == 0:
		return ProcessSpec
	case r.Model != nil && r.Model.Kind() == learner.Auto:
		return spec.Default
	case r.Model != nil:
		return DefaultSpec(r.Model.Kind(), dataset.FewestToLearn)
	}
	return DefaultSpec(r.Learner, r.fewestLabels(learner.FewForNetworks))
}

// DefaultSpec returns the method for a learner and a number of labelled rows, as replays on real tables chose it
// (docs/learners.md): a blend that has networks uses theirs, like a network alone, and other learners what they have learnt.
func DefaultSpec(kind learner.Kind, labels int) string {
	switch {
	case kind == learner.TreesOnly:
		return TreesSpec
	case kind == learner.GaussianOnly, kind == learner.Auto && labels < learner.FewForNetworks:
		return ProcessSpec
	}
	return spec.Default
}

// The default methods of learners without networks.
const (
	ProcessSpec = "bait-f-p:matern>rff(1024)>train" // of a Gaussian process
	TreesSpec   = "lcmd-tp:leaf>sketch(512)"
)

// Check reports what is wrong with a request apart from its rows, so it can be called
// before they are read. The error is a *RequestError or comes from the spec or the
// network's configuration.
func (r Request) Check() error {
	s := r.WithDefaults().Spec
	switch {
	case r.Batch < 0 || r.Batch == 0 && r.Budget == nil:
		return refuse("say how many rows to pick with %s, at least 1, or what they may cost with %s", r.named("Batch"), r.named("Budget"))
	case r.Budget != nil && r.CostColumn == "":
		return refuse("%s needs the costs: name their column with %s", r.named("Budget"), r.named("CostColumn"))
	case r.CostColumn != "" && r.Budget == nil && !r.PerCost:
		return refuse("%s alone changes nothing: say what the batch may cost with %s, or weigh scores by cost with %s",
			r.named("CostColumn"), r.named("Budget"), r.named("PerCost"))
	case r.Budget != nil && (!(*r.Budget >= 0) || math.IsInf(*r.Budget, 1)):
		return refuse("%s must be finite and not negative, not %v", r.named("Budget"), *r.Budget)
	case r.PerCost && r.CostColumn == "":
		return refuse("%s needs %s", r.named("PerCost"), r.named("CostColumn"))
	case r.GroupIsInput && r.GroupColumn == "":
		return refuse("%s needs %s", r.named("GroupIsInput"), r.named("GroupColumn"))
	case r.Model != nil && r.Foreign != nil:
		return refuse("%s and a network from elsewhere exclude each other", r.named("Model"))
	case r.OwnFeatures && (r.Model != nil || r.Foreign != nil || r.IDColumn != "" || r.CostColumn != "" || r.GroupColumn != "" || len(r.Same) > 0 || r.ReplicateShare != 0 || len(r.TargetColumns) > 0):
		return refuse("features have no columns and need no network: leave out %s, %s, %s, %s, %s, %s and %s",
			r.named("Model"), r.named("IDColumn"), r.named("TargetColumns"), r.named("CostColumn"), r.named("GroupColumn"), r.named("Same"), r.named("ReplicateShare"))
	}
	if err := r.Limits.check(&r); err != nil {
		return err
	}
	if len(r.TargetColumns) > 0 || r.Model == nil { // a model has targets of its own
		if err := tables.CheckTargets(r.TargetColumns, r.Weights); err != nil {
			return &RequestError{err.Error()}
		}
	}
	if _, err := r.Layout.Parse(r.named); err != nil {
		return &RequestError{err.Error()}
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if r.PerCost && !s.Method.Info().Score {
		return refuse("%s has no score that could be divided by costs, so it does not go with %s; use %s", s.Method, r.named("PerCost"),
			methodsWith(func(m spec.MethodInfo) bool { return m.Score }))
	}
	for _, k := range s.BaseKernels() {
		features := k.Info().OwnFeatures
		switch {
		case !s.UsesKernel() || r.OwnFeatures == features || r.OwnFeatures && k.Info().Members:
		case features:
			return refuse("the kernel features needs %s; with a table write ll, grad or linear", r.named("Features"))
		default:
			return refuse("with features the kernel must be features, as in %v, or predictions if they are those of the members of an ensemble, not %v", FeaturesSpec(true), k)
		}
	}
	if err := r.Learner.Check(r.named("Learner")); err != nil {
		return &RequestError{err.Error()}
	}
	if len(r.Given) > 0 && (!r.Learner.Blends() || r.Model != nil || r.Foreign != nil || r.OwnFeatures) {
		return refuse("%s are candidates of a blend: choose the learner %s, and neither a model nor features of your own", r.named("Given"), learner.Auto)
	}
	if err := network.CheckMembers(r.named("Members"), r.Members); err != nil {
		return &RequestError{err.Error()}
	}
	if n := r.Members; n > 0 && n < s.TrainedNetworks() {
		return refuse("%v uses %d networks, but %s is %d", s, s.TrainedNetworks(), r.named("Members"), n)
	}
	if err := r.Network.Check(); err != nil {
		return &RequestError{err.Error()}
	}
	return nil
}

// methodsWith lists the methods that have a property.
func methodsWith(property func(spec.MethodInfo) bool) string {
	var names []string
	for _, m := range spec.Methods() {
		if property(m) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// checkInput reports input that is missing or contradictory.
func (r *Request) checkInput() error {
	aims := r.Aims != nil || r.Features.Aims.Rows+r.Exact.Aims.Rows > 0
	switch {
	case aims && !r.Spec.Method.Info().Aims:
		return refuse("%s represents no distribution, so it does not go with %s; use %s", r.Spec.Method, r.named("Aims"),
			methodsWith(func(m spec.MethodInfo) bool { return m.Aims }))
	case r.OwnFeatures && r.Features.Pool.Rows == 0 && r.Exact.Pool.Rows == 0:
		return &DataError{errors.New("the candidates have no features")}
	case r.OwnFeatures && r.Spec.Mode == spec.TP && r.Features.Train.Rows+r.Exact.Train.Rows == 0:
		return refuse("%v counts the labelled rows as selected: give %s, or use mode p", r.Spec, r.named("Features.Train"))
	case r.OwnFeatures:
		return nil
	case r.pool() == nil, r.Table != nil && (r.Train != nil || r.Pool != nil):
		return refuse("a request needs one table, or %s and %s, or features", r.named("Train"), r.named("Pool"))
	case r.Random != nil && (r.Table == nil || len(r.Random) != r.Table.Rows()):
		return refuse("%s says of %d rows whether they are random, and is for the rows of the one table of the request", r.named("Random"), len(r.Random))
	case r.train() == nil && r.Model == nil && r.Foreign == nil && r.Spec.NeedsLabelled():
		return refuse("%v needs labelled rows: give %s or %s; to start without labels, leave out %s", r.Spec, r.named("Train"), r.named("Model"), r.named("Spec"))
	case r.train() == nil && r.Model == nil && r.Foreign == nil && r.poolHasLabels():
		return refuse("%s has labels in %s: give it as the one table of the request, or name %s or %s",
			r.tableName(r.Pool, r.named("Pool")), tables.TargetText(r.TargetColumns), r.named("Train"), r.named("Model"))
	case r.Foreign != nil && r.infinite() != spec.Kernel{}:
		return refuse("%v describes a perceptron of infinite width, not a network from elsewhere: leave out %s, or use ll or grad", r.infinite(), r.named("Model"))
	case r.Foreign != nil && r.Spec.TrainedNetworks() > 1:
		return refuse("%v uses %d networks, but there is one from elsewhere", r.Spec, r.Spec.TrainedNetworks())
	case r.Foreign != nil && r.Weights != nil && r.Spec.TrainedNetworks() > 0:
		return refuse("%s does not apply to a network from elsewhere: the kernel counts all of its outputs alike; leave it out, or scale the outputs of the network", r.named("Weights"))
	case r.train() != nil && len(r.TargetColumns) == 0 && (r.Foreign == nil || r.Table != nil):
		return refuse("name the target column with %s", r.named("TargetColumns"))
	case r.Model != nil && r.Model.Columns() == nil:
		return unusableData("the model does not say which columns its inputs are")
	case r.Model != nil && r.Weights != nil && len(r.Weights) != r.Model.Targets():
		return refuse("%s has %d numbers, but %s predicts %d", r.named("Weights"), len(r.Weights), r.modelName(), r.Model.Targets())
	case r.Model != nil && !r.Model.Kind().Blends() && len(r.Model.Ensemble()) < r.Spec.TrainedNetworks():
		return refuse("%v uses %d networks, but %s holds %d", r.Spec, r.Spec.TrainedNetworks(), r.modelName(), len(r.Model.Ensemble()))
	}
	return nil
}

// modelText is what messages call the model that a request fits.
func (r *Request) modelText() string {
	if r.Learner.Blends() {
		return "a model"
	}
	return "a network"
}

// neededText is modelText with what several targets have to have.
func (r *Request) neededText() string {
	if r.Learner.Blends() && len(r.TargetColumns) > 1 {
		return fmt.Sprintf("a model, which needs at least %d labels of each target", r.Learner.Fewest())
	}
	return r.modelText()
}

// infinite returns the first kernel of the spec that is that of an infinite-width network.
func (r *Request) infinite() spec.Kernel {
	for _, k := range r.Spec.BaseKernels() {
		if k.Info().Networks == spec.AnyNetwork {
			return k
		}
	}
	return spec.Kernel{}
}

func (r *Request) modelName() string {
	if r.ModelName == "" {
		return "the model"
	}
	return r.ModelName
}

// tables returns the tables of the request, without the columns that are not inputs.
func (r *Request) tables() (tables.Tables, error) {
	t := tables.Tables{
		One: r.Table, Train: r.Train, Pool: r.Pool, Aims: r.Aims, Names: r.TableNames,
		TargetColumns: r.TargetColumns, Columns: r.Columns, RandomColumn: r.RandomColumn, IDColumn: r.IDColumn, NotInputs: []string{r.CostColumn},
		Missing: r.Missing, FieldName: r.FieldName,
	}
	if !r.GroupIsInput {
		t.NotInputs = append(t.NotInputs, r.GroupColumn)
	}
	for _, name := range append([]string{r.IDColumn, r.CostColumn, r.GroupColumn}, r.Same...) {
		if name == "" {
			continue
		}
		if _, err := r.pool().Column(name); err != nil {
			return t, &DataError{t.Names.At(r.pool(), err)}
		}
	}
	if r.Foreign != nil {
		t, err := r.Foreign.Tables(t)
		if err != nil {
			return t, &DataError{err}
		}
		return t, nil
	}
	if r.Model != nil {
		t.Encoder = r.Model.Columns()
	}
	return t, nil
}

// fileBytes is the size of the user's own features in a file.
func (r *Request) fileBytes() int64 {
	if pool := r.Exact.Pool; pool.Rows > 0 {
		return rowfile.Bytes[float64](pool.Rows, pool.Cols)
	}
	return rowfile.Bytes[float32](r.Features.Pool.Rows, r.Features.Pool.Cols)
}

// networks returns how many networks the request has to train for their kernel. A blend has its own.
func (r *Request) networks() int {
	if r.Model != nil || r.Foreign != nil || r.Spec.TrainedNetworks() == 0 || r.Learner.Blends() {
		return 0
	}
	return max(r.Spec.TrainedNetworks(), r.Members)
}

// fits reports whether the request has to fit a model: its networks, or a blend that the kernel uses.
func (r *Request) fits() bool {
	blends := r.Learner.Blends() && r.Model == nil && r.Foreign == nil && !r.OwnFeatures
	return r.networks() > 0 || blends && (r.Spec.TrainedNetworks() > 0 || r.Spec.UsesLearner())
}

// How to start: as long as too few rows have a label there is no model, and the
// first batch is spread over the inputs. LCMD does so without preferring outliers, since
// it picks in the largest cluster.

const (
	startSpec    = "lcmd-p:linear"  // without labels
	oneLabelSpec = "lcmd-tp:linear" // with one
)

// FeaturesSpec returns the default method for the user's own features: with those of labelled
// rows, or without.
func FeaturesSpec(labelled bool) spec.Spec {
	if labelled {
		return spec.MustParse("lcmd-tp:features")
	}
	return spec.MustParse("lcmd-p:features")
}

// starts reports whether the tables have too few labels to fit a model.
func (r *Request) starts() bool {
	return !r.OwnFeatures && r.Model == nil && r.Foreign == nil && r.pool() != nil && r.tooFew()
}

// tooFew reports whether fewer rows have a label than the learner needs. A blend needs them of every target.
func (r *Request) tooFew() bool {
	fewest := r.Learner.Fewest()
	return r.labels(fewest) < fewest || r.Learner.Blends() && r.fewestLabels(fewest) < fewest
}

func (r *Request) firstSpec() string {
	if r.labels(1) == 0 {
		return startSpec
	}
	return oneLabelSpec
}

// labels counts the labelled rows in the tables, up to the given number.
func (r *Request) labels(most int) int {
	t := r.train()
	if t == nil {
		return 0
	}
	if len(r.TargetColumns) > 0 && tables.AnyLabel(t, r.TargetColumns) == nil {
		return most // the error comes when labels are read
	}
	return tables.CountLabelled(t, r.TargetColumns, most)
}

// fewestLabels counts the labels of the target that has the fewest, up to the given number.
func (r *Request) fewestLabels(most int) int {
	fewest := r.labels(most)
	for _, target := range r.TargetColumns {
		if t := r.train(); t != nil && tables.AnyLabel(t, []string{target}) != nil { // otherwise the error comes when labels are read
			fewest = min(fewest, tables.CountLabelled(t, []string{target}, most))
		}
	}
	return fewest
}

// poolHasLabels reports whether the table of candidates has labels, which it should not.
func (r *Request) poolHasLabels() bool {
	return tables.CountLabelled(r.Pool, r.TargetColumns, 1) > 0
}
