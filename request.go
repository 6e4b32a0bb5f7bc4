package nextbatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/bound"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Request asks for a batch in the terms of a user: tables with named columns, ids of rows, a budget. Plan checks it and
// turns it into a problem; Plan.Select answers with the ids of the rows to label. The command line uses this; Select is
// for callers who already have matrices and networks.
//
// The input is one of three: Table, where a missing label means unlabelled; Train and
// Pool; or the user's own features. Without Train, there is a Model, or no row has a label yet.
type Request struct {
	tables.Input
	Own
	// Decimal is the decimal mark of numbers in reasons; 0 means that of the file the candidates come from.
	Decimal byte

	// Spec is the method. The zero value means spec.Default; lcmd with OwnFeatures; and
	// lcmd on the inputs as long as too few rows have a label to train a network.
	Spec           spec.Spec
	fitted.Options // how the model is fitted
	limits.Ask     // what the batch must hold
	// KernelSeed, unless nil, is the seed of sketches and other random features (Problem).
	KernelSeed *uint64
	// Kept, unless nil, keeps features from one plan to the next that uses the same network,
	// kernel and KernelSeed. It is not used where Admit has no memory for it.
	Kept *kept.Features

	// Model is a fitted model to use instead of training one. It must know its columns.
	Model     *learner.Model
	ModelName string // in messages, such as its file
	// Foreign is a network that was trained elsewhere, to use instead of training one.
	Foreign *Foreign

	// FieldName returns what messages call a field, such as the flag of a program, with a value if one is given.
	// Nil means its Go name.
	FieldName func(field string, value ...string) string
	Resources
	Ranks place.Ranks // the processes that share the work (Problem.Ranks)

	Progress func(Progress) // called while rows are embedded and picked, unless nil
}

// Own is the user's own features, instead of tables.
type Own struct {
	// OwnFeatures means that the caller has set them: in Features or, for a spec that computes in float64
	// (spec.Spec.ComputesInDouble), in Exact. Rows are then named by number, and no network is trained. With the kernel
	// predictions, the features of a row are what the members of an ensemble predict for it.
	OwnFeatures bool
	Features    Sets[float32]
	Exact       Sets[float64]
	// InFile means that the pool of Features or Exact is already mapped from a file; for a spec that computes in float64,
	// the pool may then be that of Features, beside train and target in Exact.
	InFile bool
	// Shared is the number of rows of the whole pool if the ranks hold shares of it (Problem.Ranks).
	Shared  int
	RowName func(row int) string // that of Problem
}

// Resources are what a request may take, and what it does when that is too little. The batch is the same in memory and
// in files.
type Resources struct {
	// Admit, unless nil, is called before the tables are encoded, with the forecast of
	// memory in bytes and with changes that would need less. Its error ends the plan.
	Admit func(bytes int64, less ...string) error
	// Output, unless nil, returns how many bytes the caller will hold in addition to a selection of these sizes.
	Output func(forecast.Sizes) int64
	// Folder is where the inputs and the features of the candidates go, into temporary files, if Admit allows the rest in
	// memory but not these (Problem.Folder); without it such a request ends with the error of Admit.
	Folder string
	// Streams means that the caller only iterates over features (EachFeatures).
	Streams bool
}

// Errors of requests.
type (
	// RequestError reports a request that contradicts itself or cannot be met.
	RequestError = tables.RequestError
	// DataError reports rows of a request that cannot be used.
	DataError = tables.DataError
)

// named returns the name of a field in messages.
func (r *Request) named(field string, value ...string) string {
	return tables.Tables{FieldName: r.FieldName}.Named(field, value...)
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
	return r.Names.Of(t, otherwise)
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
		r.Spec = needs.Start(r.labels(1), r.pool().Rows())
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
		return DefaultSpec(r.Model.Kind(), encode.FewestToLearn)
	}
	return DefaultSpec(r.Learner, r.fewestLabels(learner.FewForNetworks))
}

// DefaultSpec returns the method for a learner and a number of labelled rows, as replays on real tables chose it
// (docs/learners.md): a blend that has networks uses theirs, like a network alone, and other learners what they have
// learnt.
func DefaultSpec(kind learner.Kind, labels int) string {
	switch {
	case kind == learner.TreesOnly:
		return TreesSpec
	case kind == learner.GaussianOnly, kind == learner.Auto && labels < learner.FewForNetworks:
		return ProcessSpec
	}
	return spec.Default
}

// The default methods of learners without networks: of a Gaussian process, and of trees. To their leaves alone, rows
// are equal that differ in what no labelled row shows.
const (
	ProcessSpec = "bait-f-p:matern>rff(1024)>train"
	TreesSpec   = "lcmd-tp:leaf>sketch(512)+2*linear>scale"
)

// Check reports what is wrong with a request apart from its rows, so it can be called before they are read. The error
// is a *RequestError or comes from the spec or the network's configuration.
func (r Request) Check() error {
	s := r.WithDefaults().Spec
	switch {
	case r.Model != nil && r.Foreign != nil:
		return tables.Refuse("%s and a network from elsewhere exclude each other", r.named("Model"))
	case r.OwnFeatures && (r.Model != nil || r.Foreign != nil || r.IDColumn != "" || r.CostColumn != "" ||
		r.GroupColumn != "" || len(r.Same) > 0 || r.ReplicateShare != 0 || len(r.TargetColumns) > 0):
		return tables.Refuse("features have no columns and need no network: leave out %s, %s, %s, %s, %s, %s and %s",
			r.named("Model"), r.named("IDColumn"), r.named("TargetColumns"), r.named("CostColumn"), r.named("GroupColumn"),
			r.named("Same"), r.named("ReplicateShare"))
	}
	if err := bound.Check(&r.Ask, r.named, r.TargetColumns); err != nil {
		return err
	}
	if err := r.checkTargets(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if r.PerCost && !s.Method.Info().Score {
		return tables.Refuse("%s has no score that could be divided by costs, so it does not go with %s; use %s",
			s.Method, r.named("PerCost"),
			methodsWith(func(m spec.MethodInfo) bool { return m.Score }))
	}
	for _, k := range s.BaseKernels() {
		features := k.Info().OwnFeatures
		switch {
		case !s.UsesKernel() || r.OwnFeatures == features || r.OwnFeatures && k.Info().Members:
		case features:
			return tables.Refuse("the kernel features needs %s; with a table write ll, grad or linear", r.named("Features"))
		default:
			return tables.Refuse("with features the kernel must be features, as in %v, or predictions if they are those of "+
				"the members of an ensemble, not %v", FeaturesSpec(true), k)
		}
	}
	if err := r.checkModel(); err != nil {
		return err
	}
	if n := r.Members; n > 0 && n < s.TrainedNetworks() {
		return tables.Refuse("%v uses %d networks, but %s is %d", s, s.TrainedNetworks(), r.named("Members"), n)
	}
	return nil
}

// checkTargets reports targets that cannot be. A model has targets of its own.
func (r *Request) checkTargets() error {
	if len(r.TargetColumns) == 0 && r.Model != nil {
		return nil
	}
	if err := r.CheckTargets(); err != nil {
		return &RequestError{Reason: err.Error()}
	}
	return nil
}

// checkModel reports what is wrong with how the model is to be fitted.
func (r *Request) checkModel() error {
	if err := r.Learner.Check(r.named("Learner")); err != nil {
		return &RequestError{Reason: err.Error()}
	}
	if len(r.Given) > 0 && (!r.Learner.Blends() || r.Model != nil || r.Foreign != nil || r.OwnFeatures) {
		return tables.Refuse(
			"%s are candidates of a blend: choose the learner %s, and neither a model nor features of your own",
			r.named("Given"), learner.Auto)
	}
	if err := choice.CheckMembers(r.named("Members"), r.Members); err != nil {
		return &RequestError{Reason: err.Error()}
	}
	if err := r.Network.Check(); err != nil {
		return &RequestError{Reason: err.Error()}
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
		return tables.Refuse("%s represents no distribution, so it does not go with %s; use %s",
			r.Spec.Method, r.named("Aims"),
			methodsWith(func(m spec.MethodInfo) bool { return m.Aims }))
	case r.OwnFeatures && r.Features.Pool.Rows == 0 && r.Exact.Pool.Rows == 0:
		return &DataError{Cause: errors.New("the candidates have no features")}
	case r.OwnFeatures && r.Spec.Mode == spec.TP && r.Features.Train.Rows+r.Exact.Train.Rows == 0:
		return tables.Refuse("%v counts the labelled rows as selected: give %s, or use mode p", r.Spec,
			r.named("Features.Train"))
	case r.OwnFeatures:
		return nil
	case r.pool() == nil, r.Table != nil && (r.Train != nil || r.Pool != nil):
		return tables.Refuse("a request needs one table, or %s and %s, or features", r.named("Train"), r.named("Pool"))
	case r.Random != nil && (r.Table == nil || len(r.Random) != r.Table.Rows()):
		return tables.Refuse(
			"%s says of %d rows whether they are random, and is for the rows of the one table of the request",
			r.named("Random"), len(r.Random))
	case r.train() == nil && r.Model == nil && r.Foreign == nil && needs.Labelled(r.Spec):
		return tables.Refuse("%v needs labelled rows: give %s or %s; to start without labels, leave out %s", r.Spec,
			r.named("Train"), r.named("Model"), r.named("Spec"))
	case r.train() == nil && r.Model == nil && r.Foreign == nil &&
		tables.CountLabelled(r.Pool, r.TargetColumns, "", 1) > 0:
		return tables.Refuse("%s has labels in %s: give it as the one table of the request, or name %s or %s",
			r.tableName(r.Pool, r.named("Pool")), tables.TargetText(r.TargetColumns), r.named("Train"), r.named("Model"))
	case r.Foreign != nil && r.infinite() != spec.Kernel{}:
		return tables.Refuse(
			"%v describes a perceptron of infinite width, not a network from elsewhere: leave out %s, or use ll or grad",
			r.infinite(), r.named("Model"))
	case r.Foreign != nil && r.Spec.TrainedNetworks() > 1:
		return tables.Refuse("%v uses %d networks, but there is one from elsewhere", r.Spec, r.Spec.TrainedNetworks())
	case r.Foreign != nil && r.Weights != nil && r.Spec.TrainedNetworks() > 0:
		return tables.Refuse("%s does not apply to a network from elsewhere: the kernel counts all of its outputs alike; "+
			"leave it out, or scale the outputs of the network", r.named("Weights"))
	case r.train() != nil && len(r.TargetColumns) == 0 && (r.Foreign == nil || r.Table != nil):
		return tables.Refuse("name the target column with %s", r.named("TargetColumns"))
	case r.Model != nil && r.Model.Columns() == nil:
		return tables.Unusable("the model does not say which columns its inputs are")
	case r.Model != nil && r.Weights != nil && len(r.Weights) != r.Model.Targets():
		return tables.Refuse("%s has %d numbers, but %s predicts %d", r.named("Weights"), len(r.Weights),
			r.modelName(), r.Model.Targets())
	case r.Model != nil && r.Ranges.Check(r.Model.Targets()) != nil:
		return tables.Refuse("%s: %v", r.named("Ranges"), r.Ranges.Check(r.Model.Targets()))
	case r.Model != nil && !r.Model.Kind().Blends() && len(r.Model.Ensemble()) < r.Spec.TrainedNetworks():
		return tables.Refuse("%v uses %d networks, but %s holds %d", r.Spec, r.Spec.TrainedNetworks(), r.modelName(),
			len(r.Model.Ensemble()))
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

// given returns the tables as the user has given them.
func (r *Request) given() tables.Tables {
	return tables.Tables{
		Input: r.Input, FieldName: r.FieldName,
	}
}

// tables returns the tables of the request, without the columns that are not inputs.
func (r *Request) tables(ctx context.Context) (t tables.Tables, err error) {
	t = r.given()
	t.NotInputs = []string{r.CostColumn}
	if !r.GroupIsInput {
		t.NotInputs = append(t.NotInputs, r.GroupColumn)
	}
	for _, name := range append([]string{r.IDColumn, r.CostColumn, r.GroupColumn}, r.Same...) {
		if name != "" && !r.pool().Has(name) {
			_, err := r.pool().Column(name)
			return t, &DataError{Cause: t.Names.At(r.pool(), err)}
		}
	}
	switch {
	case r.Foreign != nil:
		t, err = r.Foreign.Tables(t)
	case r.Model != nil:
		t, err = earlierdata.Tables(ctx, t, r.Model)
	}
	if err != nil {
		return t, r.unusable(ctx, err)
	}
	return t, nil
}

// unusable returns the error of rows that cannot be used, of their temporary files, or of the context.
func (r *Request) unusable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rowfile.IsOfFolder(err):
		return fmt.Errorf("%w; %s names another folder", err, r.named("Folder"))
	}
	return &DataError{Cause: err}
}

// fileBytes is the size of the user's own features in a file.
func (r *Request) fileBytes() int64 {
	if pool := r.Exact.Pool; pool.Rows > 0 {
		return rowfile.Bytes[float64](pool.Rows, pool.Cols)
	}
	return rowfile.Bytes[float32](r.Features.Pool.Rows, r.Features.Pool.Cols)
}

// networks returns how many networks the request has to train for their kernel. A blend has its own.
func (r *Request) networks() int { return r.networksFor(r.Spec.TrainedNetworks()) }

// networksFor is networks for a kernel of so many.
func (r *Request) networksFor(need int) int {
	if r.Model != nil || r.Foreign != nil || need == 0 || r.Learner.Blends() {
		return 0
	}
	return max(need, r.Members)
}

// fits reports whether the request has to fit a model: its networks, or a blend that the kernel uses.
func (r *Request) fits() bool {
	blends := r.Learner.Blends() && r.Model == nil && r.Foreign == nil && !r.OwnFeatures
	return r.networks() > 0 || blends && (r.Spec.TrainedNetworks() > 0 || needs.UsesLearner(r.Spec))
}

// FeaturesSpec returns the default method for the user's own features: with those of labelled rows, or without.
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

// labels counts the labelled rows in the tables, up to the given number.
func (r *Request) labels(most int) int {
	t := r.train()
	if t == nil {
		return 0
	}
	if len(r.TargetColumns) > 0 && tables.AnyLabel(t, r.TargetColumns) == nil {
		return most // the error comes when labels are read
	}
	return tables.CountLabelled(t, r.TargetColumns, r.IDColumn, most)
}

// fewestLabels counts the labels of the target that has the fewest, up to the given number.
func (r *Request) fewestLabels(most int) int {
	fewest := r.labels(most)
	for _, target := range r.TargetColumns {
		// otherwise the error comes when labels are read
		if t := r.train(); t != nil && tables.AnyLabel(t, []string{target}) != nil {
			fewest = min(fewest, tables.CountLabelled(t, []string{target}, r.IDColumn, most))
		}
	}
	return fewest
}
