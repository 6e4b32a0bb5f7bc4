package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// A saved model is a safetensors file with these tensors; in its metadata,
// all but the first are JSON:
//
//	members.I.layers.L.weight   inputs of layer L down, outputs across
//	members.I.layers.L.bias
//	members.I.posterior         Cholesky factor of the last-layer posterior
//	inputs.mean, inputs.deviation
//	inputs.centre               what was subtracted from raw inputs before they were rounded;
//	                            absent if nothing was, or if the columns say what
//	validation.errors           scores of the intervals in ascending order: absolute errors
//	                            of held-out rows, divided by g where intervals are adaptive
//
//	format          what it is: fileFormat
//	architecture    the shape of the networks, with inputs and members
//	training        how they were trained
//	preprocessing   how raw numbers become inputs, and outputs labels
//	uncertainty     constants of the posteriors
//	provenance      where it comes from
//	intervals       how intervals are made; absent in files of before 0.1, which have constant ones
//	columns         how a table becomes rows; absent where there was no table
//	range           the declared ranges of the labels; absent where there are none
//	targets         of models with several targets, those after the first: their label
//	                scaling, uncertainty, provenance and intervals
//
// Target K after the first has tensors targets.K.members.I.posterior and
// targets.K.validation.errors.

const fileFormat = "nextbatch regressor 1"

type fileArchitecture struct {
	Architecture
	Inputs  int `json:"inputs"`
	Members int `json:"members"`
}

type fileTraining struct {
	Training
	Seed    uint64   `json:"seed"`
	Holdout *float64 `json:"holdout"` // as given to Fit; in files from before 0.1, zero means the default
}

type filePreprocessing struct {
	Inputs string             `json:"inputs"` // inputScaling, or centredScaling if inputs have centres
	Labels encode.LabelScaler `json:"labels"`
}

// fileTarget is a target after the first.
type fileTarget struct {
	Labels      encode.LabelScaler  `json:"labels"`
	Uncertainty []posterior         `json:"uncertainty"`
	Provenance  Provenance          `json:"provenance"`
	Intervals   conformal.Intervals `json:"intervals"`
}

// A version that knows no centres rejects the second.
const (
	inputScaling   = "5·tanh((x - mean)/(5·deviation))"
	centredScaling = "5·tanh(((x - centre) - mean)/(5·deviation))"
)

// scalingText is the scaling of a model's inputs as files have it.
func (m *Model) scalingText() string {
	if m.Centres() == nil {
		return inputScaling
	}
	return centredScaling
}

// Save writes the model to a file, which appears under its name only when it is
// complete. learner.Load reads it.
func (m *Model) Save(path string) error {
	raw, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, raw)
}

// MarshalBinary returns the contents of the file that Save writes.
func (m *Model) MarshalBinary() ([]byte, error) {
	if m.ensemble == nil {
		return nil, ErrNotFitted
	}
	if m.output > 0 {
		return nil,
			errors.New("the model of one of several targets cannot be saved by itself: save the first, which holds them all")
	}
	f := &tensorFile{metadata: map[string]string{"format": fileFormat}, tensors: map[string]tensor{}}
	inputs := len(m.inputs.Mean)
	parts := map[string]any{
		"architecture":  fileArchitecture{m.config.Architecture, inputs, len(m.ensemble)},
		"training":      fileTraining{m.config.Training, m.config.Seed, m.holdout},
		"preprocessing": filePreprocessing{m.scalingText(), m.labels},
		"uncertainty":   m.posteriors,
		"provenance":    m.provenance,
		"intervals":     m.intervals,
	}
	if m.columns != nil {
		parts["columns"] = m.columns
	}
	if len(m.ranges) > 0 {
		parts["range"] = m.ranges
	}
	if len(m.others) > 0 {
		var targets []fileTarget
		for _, one := range m.others {
			targets = append(targets, fileTarget{one.labels, one.posteriors, one.provenance, one.intervals})
		}
		parts["targets"] = targets
	}
	for name, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.metadata[name] = string(text)
	}
	m.put(f)
	return f.encode()
}

// put adds the tensors.
func (m *Model) put(f *tensorFile) {
	for i, net := range m.ensemble {
		for l := range net.Layers() {
			w := net.Weights(l)
			putTensor(f, weightName(i, l), w.Data, w.Rows, w.Cols)
			putTensor(f, biasName(i, l), net.Bias(l), w.Cols)
		}
	}
	putTensor(f, "inputs.mean", m.inputs.Mean, len(m.inputs.Mean))
	putTensor(f, "inputs.deviation", m.inputs.Deviation, len(m.inputs.Deviation))
	if m.centres != nil {
		putTensor(f, centreName, m.centres, len(m.centres))
	}
	for _, one := range m.targets() {
		for i, q := range one.posteriors {
			putTensor(f, one.tensorName(posteriorName(i)), q.factor.Data, q.factor.Rows, q.factor.Cols)
		}
		putTensor(f, one.tensorName(scoresName), one.scores, len(one.scores))
	}
}

const centreName = "inputs.centre"
const scoresName = "validation.errors"

// tensorName is the name of a tensor that every target has.
func (m *Model) tensorName(name string) string {
	if m.output == 0 {
		return name
	}
	return fmt.Sprintf("targets.%d.%s", m.output, name)
}

func weightName(member, l int) string { return fmt.Sprintf("members.%d.layers.%d.weight", member, l) }
func biasName(member, l int) string   { return fmt.Sprintf("members.%d.layers.%d.bias", member, l) }
func posteriorName(member int) string { return fmt.Sprintf("members.%d.posterior", member) }

// UnmarshalBinary reads what MarshalBinary returned. On an error the model does not
// change.
func (m *Model) UnmarshalBinary(raw []byte) error {
	f, err := decodeTensors(raw)
	if err != nil {
		return err
	}
	if got := f.metadata["format"]; got != fileFormat {
		return fmt.Errorf("the format is %q, not %q", got, fileFormat)
	}
	var (
		a fileArchitecture
		t fileTraining
		p filePreprocessing
		u []posterior
		s Provenance
	)
	for name, part := range map[string]any{"architecture": &a, "training": &t, "preprocessing": &p,
		"uncertainty": &u, "provenance": &s} {
		if err := json.Unmarshal([]byte(f.metadata[name]), part); err != nil {
			return fmt.Errorf("metadata, %s: %w", name, err)
		}
	}
	first := fileTarget{Labels: p.Labels, Uncertainty: u, Provenance: s}
	if text, ok := f.metadata["intervals"]; ok {
		if err := json.Unmarshal([]byte(text), &first.Intervals); err != nil {
			return fmt.Errorf("metadata, intervals: %w", err)
		}
	}
	targets := []fileTarget{first}
	if text, ok := f.metadata["targets"]; ok {
		var others []fileTarget
		if err := json.Unmarshal([]byte(text), &others); err != nil {
			return fmt.Errorf("metadata, targets: %w", err)
		}
		targets = append(targets, others...)
	}
	c := Config{a.Architecture, t.Training, t.Seed}
	if err := checkFile(c, a, p, targets); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	loaded := newModel(len(targets), Options{Holdout: t.Holdout})
	for i, one := range loaded.targets() {
		k := targets[i]
		one.config, one.labels, one.posteriors, one.provenance, one.intervals = c, k.Labels, k.Uncertainty,
			k.Provenance, k.Intervals
	}
	if text, ok := f.metadata["columns"]; ok {
		if err := json.Unmarshal([]byte(text), &loaded.columns); err != nil {
			return fmt.Errorf("metadata, columns: %w", err)
		}
		if err := checkColumns(loaded.columns, a.Inputs); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		for _, one := range loaded.others {
			one.columns = loaded.columns
		}
	}
	if text, ok := f.metadata["range"]; ok {
		var ranges dataset.Ranges
		if err := errors.Join(json.Unmarshal([]byte(text), &ranges), ranges.Check(len(targets))); err != nil {
			return fmt.Errorf("metadata, range: %w", err)
		}
		loaded = loaded.Declare(ranges)
	}
	if err := loaded.take(f, a); err != nil {
		return err
	}
	if want := loaded.scalingText(); p.Inputs != want {
		return fmt.Errorf("metadata: inputs are scaled by %q, but with these centres by %q", p.Inputs, want)
	}
	if _, ok := f.metadata["intervals"]; !ok {
		loaded.intervals.Rows = len(loaded.scores)
	}
	*m = *loaded
	return nil
}

// checkColumns reports columns that do not match the networks' inputs.
func checkColumns(columns *encode.Encoder, inputs int) error {
	if columns == nil {
		return nil
	}
	if err := columns.Check(); err != nil {
		return err
	}
	if len(columns.Features()) == inputs {
		return nil
	}
	return fmt.Errorf("the columns give %d inputs, but the networks have %d", len(columns.Features()), inputs)
}

// checkFile reports metadata that no saved model has.
func checkFile(c Config, a fileArchitecture, p filePreprocessing, targets []fileTarget) error {
	var found complaints
	found.unless(c.Architecture.Outputs == len(targets), "the networks have %d outputs for %d targets",
		c.Architecture.Outputs, len(targets))
	found.unless(a.Hidden != nil && a.Inputs > 0 && a.Inputs <= maxWidth,
		"the networks have %d inputs and hidden layers %v", a.Inputs, a.Hidden)
	found.unless(p.Inputs == inputScaling || p.Inputs == centredScaling, "inputs are scaled by %q", p.Inputs)
	for _, k := range targets {
		k.check(&found, a.Members)
	}
	return errors.Join(append(found, c.Check())...)
}

func (k fileTarget) check(found *complaints, members int) {
	found.unless(members > 0 && members == len(k.Uncertainty), "there are %d members and %d posteriors",
		members, len(k.Uncertainty))
	found.unless(finite(k.Labels.Mean) && positive(k.Labels.Deviation), "labels have mean %v and deviation %v",
		k.Labels.Mean, k.Labels.Deviation)
	for i, q := range k.Uncertainty {
		found.unless(positive(q.Lambda) && positive(q.Noise) && q.Unit >= 0 && finite(q.Unit), "posterior %d is %+v", i, q)
	}
	n := k.Intervals
	found.unless(n.Floor >= 0 && finite(n.Floor) && (!n.Adaptive() || positive(n.Typical)), "intervals are %+v", n)
}

// take reads the tensors. Memory for a network is allocated only once its tensors have
// been found.
func (m *Model) take(f *tensorFile, a fileArchitecture) error {
	sizes := a.sizes(a.Inputs)
	layers := len(sizes) - 1
	want := a.Members*(2*layers+m.Targets()) + 2 + m.Targets()
	_, centred := f.tensors[centreName]
	if centred = centred && m.columns == nil; centred {
		want++
	}
	if len(f.tensors) != want {
		return fmt.Errorf("there are %d tensors, but %d members of %d layers have %d", len(f.tensors),
			a.Members, layers, want)
	}
	for i := range a.Members {
		for l := range layers {
			if err := errors.Join(checkTensor[Real](f, weightName(i, l), sizes[l], sizes[l+1]),
				checkTensor[Real](f, biasName(i, l), sizes[l+1])); err != nil {
				return fmt.Errorf("the file does not fit its architecture %v: %w", sizes, err)
			}
		}
		if err := m.takeMember(f, i, a); err != nil {
			return err
		}
	}
	m.inputs = encode.Scaler{Mean: make([]float64, a.Inputs), Deviation: make([]float64, a.Inputs)}
	err := errors.Join(
		takeTensor(f, m.inputs.Mean, "inputs.mean", a.Inputs),
		takeTensor(f, m.inputs.Deviation, "inputs.deviation", a.Inputs),
	)
	if err != nil {
		return err
	}
	if centred {
		m.centres = make([]float64, a.Inputs)
		if err := takeTensor(f, m.centres, centreName, a.Inputs); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(m.inputs.Deviation, func(d float64) bool { return d < 0 }) {
		return errors.New("an input has a negative deviation")
	}
	for _, one := range m.targets() {
		one.ensemble, one.inputs, one.centres = m.ensemble, m.inputs, m.centres
		if err := one.takeOwn(f, sizes[layers-1]+1); err != nil {
			return err
		}
	}
	return nil
}

// takeOwn reads the tensors of a target. Posteriors have the given width.
func (m *Model) takeOwn(f *tensorFile, width int) error {
	for i := range m.posteriors {
		name := m.tensorName(posteriorName(i))
		if err := checkTensor[float64](f, name, width, width); err != nil {
			return err
		}
		factor := matrix.New[float64](width, width)
		if err := takeTensor(f, factor.Data, name, width, width); err != nil {
			return err
		}
		for j := range width {
			if d := factor.At(j, j); !(d > 0) || math.IsInf(1/d, 0) {
				return fmt.Errorf("tensor %q: pivot %d is %v", name, j, d)
			}
		}
		m.posteriors[i].factor = factor
	}
	m.scores = make([]float64, len(f.tensors[m.tensorName(scoresName)].data)/8)
	if err := takeTensor(f, m.scores, m.tensorName(scoresName), len(m.scores)); err != nil {
		return err
	}
	if !slices.IsSorted(m.scores) || len(m.scores) > 0 && m.scores[0] < 0 {
		return errors.New("validation errors are negative or not sorted")
	}
	return nil
}

func (m *Model) takeMember(f *tensorFile, member int, a fileArchitecture) error {
	net, err := newZero(a.Inputs, a.Architecture)
	if err != nil {
		return err
	}
	for l := range net.Layers() {
		w := net.Weights(l)
		err = errors.Join(err, takeTensor(f, w.Data, weightName(member, l), w.Rows, w.Cols),
			takeTensor(f, net.Bias(l), biasName(member, l), w.Cols))
	}
	m.ensemble = append(m.ensemble, net)
	return err
}
