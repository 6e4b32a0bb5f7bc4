package nextbatch

// The memory of a plan, forecast from the numbers of its rows, and its time, measured on samples. Package
// forecast has the formulas.

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// admit asks the caller whether there is memory for these sizes. If there is not, the
// embedded rows of the pool go to a file, if that helps.
func (p *Plan) admit(z forecast.Sizes) error {
	r := &p.request
	z.InFile = r.InFile
	p.Memory = p.need(z)
	err := p.ask(p.Memory)
	if err != nil && r.Kept != nil {
		r.Kept.Clear()
		r.Kept = nil
		p.Memory = p.need(z)
		err = p.ask(p.Memory)
	}
	if err != nil && !z.InFile && p.mayUseFile() {
		inFile := z
		inFile.InFile = true
		need := p.need(inFile)
		if refused := p.ask(need); refused == nil || need < p.Memory {
			z, p.Memory, p.problem.Folder, err = inFile, need, r.Folder, refused
		}
	}
	if err != nil || !z.InFile {
		return err
	}
	return p.reserve(z)
}

// ask asks the caller whether this many bytes of memory are available.
func (p *Plan) ask(bytes int64) error {
	if p.request.Admit == nil {
		return nil
	}
	return p.request.Admit(bytes, p.smaller()...)
}

// Admit asks the caller whether there is memory to embed rows of these sizes by a spec other than
// the plan's own. The plan holds all of them as numbers.
func (p *Plan) Admit(s spec.Spec, z forecast.Sizes) error {
	other := *p
	other.request.Spec, other.request.Kept = s, nil
	z.Inputs = p.Inputs
	need := min(footprint.Most, other.need(z)+footprint.Float32(p.Labelled+p.Pool, p.Inputs))
	return other.ask(need)
}

// mayUseFile reports whether embedded rows may go to a file.
func (p *Plan) mayUseFile() bool {
	r := &p.request
	return rowfile.Supported && r.Folder != "" && r.Ranks == nil && !r.OwnFeatures && r.Spec.UsesKernel()
}

// reserve records how large the rows in files will be, and makes sure that there is space
// for the temporary ones.
func (p *Plan) reserve(z forecast.Sizes) error {
	r := &p.request
	if !r.Streams {
		p.File = forecast.FileBytes(r.Spec, p.sizes(z))
	}
	if !r.OwnFeatures {
		p.File += forecast.InputFileBytes(z)
	}
	if p.File == 0 {
		p.File = r.fileBytes()
		return nil
	}
	p.Folder = r.Folder
	if err := rowfile.CheckSpace(r.Folder, p.File); err != nil {
		return fmt.Errorf("the features of the candidates exceed memory and go to a temporary file: %w; %s names another folder", err, r.named("Folder"))
	}
	return nil
}

// Memory forecasts the bytes that the request needs with features of these sizes.
func (r Request) Memory(z forecast.Sizes) int64 { return (&Plan{request: r.WithDefaults()}).need(z) }

// need forecasts the memory of the plan for these sizes: the tables and their rows as
// numbers, which stay, plus the most that any later stage takes.
func (p *Plan) need(z forecast.Sizes) int64 {
	r := &p.request
	stay, stack := forecast.TableBytes(r.Table, r.Train, r.Pool, r.Aims)
	if r.Model != nil || r.Foreign != nil {
		stack = max(stack, stay) // columns that become of the kind that the network takes
	}
	if !r.OwnFeatures {
		stay += footprint.Float32(z.InMemory(), z.Inputs)
	}
	config, members := r.Network, r.networks()
	config.Architecture.Outputs = max(len(r.TargetColumns), 1)
	if own := p.ensemble(); own != nil {
		config.Architecture, members = own[0].Architecture(), len(own)
	}
	fit, kept := config.Memory(z.Inputs, z.Train, members)
	if p.model != nil || members == 0 {
		fit = 0
	}
	if r.Learner.Blends() && r.fits() {
		fit, kept = learner.Memory(r.Learner, config, z.Inputs, z.Train)
		if n := max(r.Spec.TrainedNetworks(), learner.NetworkFolds(z.Train)*(r.Members-1)); n > 0 { // for the kernel, or in each fold
			training, more := config.Memory(z.Inputs, z.Train, n)
			fit, kept = max(fit+more, kept+training), kept+more
		}
	}
	output := int64(0)
	if r.Output != nil {
		output = r.Output(z)
	}
	if r.Kept != nil {
		stay += r.Kept.Memory(r.Spec, p.sizes(z))
	}
	return footprint.Resident(stay + max(stack, fit, kept+forecast.Memory(r.Spec, p.sizes(z))+output))
}

// FeatureBytes forecasts the size of the features of the given number of rows: 0 for the user's
// own, which are used as they are.
func (p *Plan) FeatureBytes(rows int) int64 {
	return forecast.FileBytes(p.request.Spec, p.sizes(forecast.Sizes{Train: p.Labelled, Pool: rows, Inputs: p.Inputs}))
}

// sizes completes the sizes of the rows by those of the networks and the batch.
func (p *Plan) sizes(z forecast.Sizes) forecast.Sizes {
	r := &p.request
	architecture := r.Network.WithDefaults().Architecture
	architecture.Outputs = max(len(r.TargetColumns), 1)
	if own := p.ensemble(); own != nil {
		architecture = network.Config{Architecture: own[0].Architecture()}.WithDefaults().Architecture
	}
	z.Hidden, z.Batch, z.Pending, z.Outputs = architecture.Hidden, r.Batch, len(r.Pending), architecture.Outputs
	if r.Foreign != nil && r.Spec.TrainedNetworks() > 0 {
		z.Hidden = r.Foreign.hidden()
	}
	return z
}

// ensemble returns the networks of the model; nil if there is none yet, or it has none.
func (p *Plan) ensemble() network.Ensemble {
	if p.model == nil {
		return nil
	}
	return p.model.Ensemble()
}

// smaller lists changes to the request that would need less memory.
func (p *Plan) smaller() (list []string) {
	r := &p.request
	var sketch spec.Transform // the smallest of the spec
	for _, t := range r.Spec.AllTransforms() {
		if info := t.Info(); info.Projects && !info.DoubleOnly && (sketch.Number == 0 || t.Number < sketch.Number) {
			sketch = t
		}
	}
	switch {
	case !r.Spec.UsesKernel():
	case sketch.Number == 0 && r.OwnFeatures:
		list = append(list, "a sketch, as in lcmd-tp:features>sketch(128)")
	case sketch.Number == 0:
		list = append(list, "a sketch, as in lcmd-tp:grad>sketch(128)")
	case sketch.Number > 32: // with fewer features, a kernel hardly distinguishes rows
		half := int(sketch.Number) / 2
		if sketch.Info().Parameter.Even {
			half -= half % 2
		}
		list = append(list, fmt.Sprintf("a smaller %s, such as %s(%d)", sketch.Name, sketch.Name, half))
	}
	if p.Networks > 1 {
		list = append(list, "fewer networks")
	}
	if p.Networks > 0 || r.Learner == learner.Auto && r.fits() {
		list = append(list, "narrower layers ("+r.named("Network.Architecture.Hidden")+")")
	}
	return append(list, "fewer candidates")
}

// Forecast measures samples of the plan and sets its Seconds. Read is the time that
// reading the tables took. Nothing else in the plan changes.
func (p *Plan) Forecast(ctx context.Context, read time.Duration) error {
	f := &Seconds{Read: Float(read.Seconds())}
	sample := *p
	sample.request.Progress, sample.request.Epoch = nil, nil
	var err error
	if p.request.fits() && p.model == nil {
		if f.Train, err = sample.measureTraining(ctx); err != nil {
			return err
		}
	}
	most := p.Pool
	if own := sample.ensemble(); own != nil {
		most = forecast.SamplePool(own[0].Architecture(), p.Inputs)
	}
	small, large := forecast.Samples(p.Pool, p.Batch, most)
	for _, size := range []*forecast.Sample{&small, &small, &large} {
		if err := sample.measureSelection(ctx, size); err != nil {
			return err
		}
	}
	_, explicit := forecast.Width(p.request.Spec, p.sizes(forecast.Sizes{Train: p.Labelled, Pool: p.Pool, Inputs: p.Inputs}))
	kernel, selecting := forecast.Selection(small, large, p.Pool, p.Batch, explicit)
	f.Kernel, f.Select = Float(kernel), Float(selecting)
	f.Total = f.Read + f.Train + f.Kernel + f.Select
	p.Seconds = f
	return nil
}

// measureTraining returns the time that training all networks would take, and leaves
// a model to select with.
func (p *Plan) measureTraining(ctx context.Context) (Float, error) {
	if p.request.Learner.Blends() {
		return p.measureBlend(ctx)
	}
	epochs := p.request.Network.WithDefaults().Training.Epochs
	o := network.Options{Config: p.request.Network}
	var rows int
	o.Config.Training.Epochs, rows = forecast.SampleTraining(o.Config, p.Inputs, p.Labelled)
	warmUp := min(forecast.WarmEpochs, o.Config.Training.Epochs-1)
	var warm time.Time
	perEpoch := math.NaN()
	o.Progress = func(e network.Epoch) {
		if e.Number <= warmUp {
			warm = time.Now()
		} else if !warm.IsZero() {
			perEpoch = time.Since(warm).Seconds() / float64(e.Number-warmUp)
		}
	}
	all := p.Rows
	p.Rows = all.SomeTrain(rows)
	defer func() { p.Rows = all }()
	begin := time.Now()
	var err error
	if p.model, err = p.fit(ctx, learner.Options{Network: o}); p.model == nil {
		return 0, err
	}
	taken := time.Since(begin).Seconds()
	of := o.Config
	if ratio := of.Work(p.Inputs, p.Labelled, 0) / of.Work(p.Inputs, rows, 0); ratio > 1 {
		taken *= ratio
		perEpoch *= ratio
	}
	if left := epochs - o.Config.Training.Epochs; left > 0 {
		taken += perEpoch * float64(left)
	}
	if p.Networks > 1 {
		o.Config.Training.Epochs, o.Members, o.Progress = 1, p.Networks, nil
		if p.model, err = p.fit(ctx, learner.Options{Network: o}); p.model == nil {
			return 0, err
		}
	}
	return Float(taken) * Float(p.Networks), nil
}

// A blend is measured on this many labelled rows, with networks for one fold that are trained for this many epochs.
const (
	sampleLabels = 64
	sampleEpochs = 32
)

// measureBlend fits a blend to some of the labelled rows, and leaves it to select with. The time of each learner grows
// in its own way.
func (p *Plan) measureBlend(ctx context.Context) (Float, error) {
	all := p.Rows
	if p.Rows = all.SomeTrain(min(sampleLabels, p.Labelled)); len(all.Targets) > 1 {
		p.Rows = all // a sample may lack the labels of some target
	}
	defer func() { p.Rows = all }()
	var watch learner.Stopwatch
	p.request.Fitting = watch.Shown
	config, rows := p.request.Network, p.Rows.Train.Rows
	p.request.Network.Training.Epochs = min(sampleEpochs, config.WithDefaults().Training.Epochs)
	sample := p.request.Network
	var err error
	if p.model, err = p.fit(ctx, learner.Options{Network: network.Options{Config: sample, Members: p.request.Members}, NetworkFolds: 1}); p.model == nil {
		return 0, err
	}
	watch.Stop()
	begin := time.Now()
	if err := p.fitKernel(ctx); err != nil {
		return 0, err
	}
	kernel := time.Since(begin).Seconds() * config.Work(p.Inputs, p.Labelled, 0) / sample.Work(p.Inputs, rows, 0)
	return Float(watch.Forecast(sample, config, p.Inputs, rows, p.Labelled) + kernel), nil
}

// measureSelection picks from the first rows of the pool, without constraints.
func (p *Plan) measureSelection(ctx context.Context, size *forecast.Sample) error {
	part := *p
	if p.Rows != nil {
		part.Rows = p.Rows.FirstOfPool(size.Rows)
		if err := part.scale(ctx); err != nil {
			return err
		}
	} else {
		if part.problem.Pool.Rows = size.Rows; p.problem.Exact.Pool.Rows > 0 {
			part.problem.Exact.Pool = p.problem.Exact.Pool.Slice(0, size.Rows)
		}
	}
	part.problem.Batch, part.problem.Constraints = size.Batch, selection.Constraints{}
	part.problem.Pending = nil
	batch, err := part.pick(ctx, part.problem)
	if err != nil {
		return err
	}
	size.Kernel, size.Timing = batch.Kernel, batch.Timing
	return nil
}
