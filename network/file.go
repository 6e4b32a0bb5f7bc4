package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/matrix"
)

// A saved model is a safetensors file with these tensors; in its metadata,
// all but the first are JSON:
//
//	members.I.layers.L.weight   inputs of layer L down, outputs across
//	members.I.layers.L.bias
//	members.I.posterior         Cholesky factor of the last-layer posterior
//	inputs.mean, inputs.deviation
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

const fileFormat = "nextbatch regressor 1"

type fileArchitecture struct {
	Architecture
	Inputs  int `json:"inputs"`
	Members int `json:"members"`
}

type fileTraining struct {
	Training
	Seed    uint64   `json:"seed"`
	Holdout *float64 `json:"holdout"` // as given to Fit; in files of before 0.1 zero for the default
}

type filePreprocessing struct {
	Inputs string              `json:"inputs"` // inputScaling
	Labels dataset.LabelScaler `json:"labels"`
}

const inputScaling = "5·tanh((x - mean)/(5·deviation))"

// Save writes the model to a file, which appears under its name only when it is
// complete.
func (m *Model[T]) Save(path string) error {
	raw, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
}

// Load reads a file that Save wrote. The element type must be that of the saved
// model.
func Load[T matrix.Float](path string) (*Model[T], error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &Model[T]{}
	if err := m.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// MarshalBinary returns the contents of the file that Save writes.
func (m *Model[T]) MarshalBinary() ([]byte, error) {
	if m.ensemble == nil {
		return nil, ErrNotFitted
	}
	f := &tensorFile{metadata: map[string]string{"format": fileFormat}, tensors: map[string]tensor{}}
	inputs := len(m.inputs.Mean)
	parts := map[string]any{
		"architecture":  fileArchitecture{m.config.Architecture, inputs, len(m.ensemble)},
		"training":      fileTraining{m.config.Training, m.config.Seed, m.holdout},
		"preprocessing": filePreprocessing{inputScaling, m.labels},
		"uncertainty":   m.posteriors,
		"provenance":    m.provenance,
		"intervals":     m.intervals,
	}
	if m.columns != nil {
		parts["columns"] = m.columns
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
func (m *Model[T]) put(f *tensorFile) {
	for i, net := range m.ensemble {
		for l := range net.Layers() {
			w := net.Weights(l)
			putTensor(f, weightName(i, l), w.Data, w.Rows, w.Cols)
			putTensor(f, biasName(i, l), net.Bias(l), w.Cols)
		}
		q := m.posteriors[i].factor
		putTensor(f, posteriorName(i), q.Data, q.Rows, q.Cols)
	}
	putTensor(f, "inputs.mean", m.inputs.Mean, len(m.inputs.Mean))
	putTensor(f, "inputs.deviation", m.inputs.Deviation, len(m.inputs.Deviation))
	putTensor(f, "validation.errors", m.scores, len(m.scores))
}

func weightName(member, l int) string { return fmt.Sprintf("members.%d.layers.%d.weight", member, l) }
func biasName(member, l int) string   { return fmt.Sprintf("members.%d.layers.%d.bias", member, l) }
func posteriorName(member int) string { return fmt.Sprintf("members.%d.posterior", member) }

// UnmarshalBinary reads what MarshalBinary returned. On an error the model stays as
// it was.
func (m *Model[T]) UnmarshalBinary(raw []byte) error {
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
	for name, part := range map[string]any{"architecture": &a, "training": &t, "preprocessing": &p, "uncertainty": &u, "provenance": &s} {
		if err := json.Unmarshal([]byte(f.metadata[name]), part); err != nil {
			return fmt.Errorf("metadata, %s: %w", name, err)
		}
	}
	c := Config{a.Architecture, t.Training, t.Seed}
	if err := checkFile(c, a, p, u); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	loaded := Model[T]{config: c, holdout: t.Holdout, labels: p.Labels, posteriors: u, provenance: s}
	if text, ok := f.metadata["intervals"]; ok {
		if err := json.Unmarshal([]byte(text), &loaded.intervals); err != nil {
			return fmt.Errorf("metadata, intervals: %w", err)
		}
		if n := loaded.intervals; n.Floor < 0 || !finite(n.Floor) || n.Adaptive() && !positive(n.Typical) {
			return fmt.Errorf("metadata: intervals are %+v", n)
		}
	}
	if text, ok := f.metadata["columns"]; ok {
		if err := json.Unmarshal([]byte(text), &loaded.columns); err != nil {
			return fmt.Errorf("metadata, columns: %w", err)
		}
		if err := checkColumns(loaded.columns, a.Inputs); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
	}
	if err := loaded.take(f, a); err != nil {
		return err
	}
	if _, ok := f.metadata["intervals"]; !ok {
		loaded.intervals.Rows = len(loaded.scores)
	}
	*m = loaded
	return nil
}

// checkColumns reports columns that do not make the networks' inputs.
func checkColumns(columns *dataset.Encoder, inputs int) error {
	if columns == nil || len(columns.Features()) == inputs {
		return nil
	}
	return fmt.Errorf("the columns give %d inputs, the networks take %d", len(columns.Features()), inputs)
}

// checkFile reports metadata that no saved model has.
func checkFile(c Config, a fileArchitecture, p filePreprocessing, u []posterior) error {
	var found complaints
	found.unless(c.Architecture.Outputs == 1, "the networks have %d outputs", c.Architecture.Outputs)
	found.unless(a.Hidden != nil && a.Inputs > 0 && a.Inputs <= maxWidth, "the networks have %d inputs and hidden layers %v", a.Inputs, a.Hidden)
	found.unless(a.Members > 0 && a.Members == len(u), "there are %d members and %d posteriors", a.Members, len(u))
	found.unless(p.Inputs == inputScaling, "inputs are scaled by %q", p.Inputs)
	found.unless(finite(p.Labels.Mean) && positive(p.Labels.Deviation), "labels have mean %v and deviation %v", p.Labels.Mean, p.Labels.Deviation)
	for i, q := range u {
		found.unless(positive(q.Lambda) && positive(q.Noise) && q.Unit >= 0 && finite(q.Unit), "posterior %d is %+v", i, q)
	}
	return errors.Join(append(found, c.Check())...)
}

// take reads the tensors. Memory for a network is allocated only when its
// tensors are known to be there.
func (m *Model[T]) take(f *tensorFile, a fileArchitecture) error {
	sizes := a.sizes(a.Inputs)
	layers := len(sizes) - 1
	if want := a.Members*(2*layers+1) + 3; len(f.tensors) != want {
		return fmt.Errorf("there are %d tensors; %d members of %d layers have %d", len(f.tensors), a.Members, layers, want)
	}
	for i := range a.Members {
		for l := range layers {
			if err := errors.Join(checkTensor[T](f, weightName(i, l), sizes[l], sizes[l+1]),
				checkTensor[T](f, biasName(i, l), sizes[l+1])); err != nil {
				return fmt.Errorf("the file does not fit its architecture %v: %w", sizes, err)
			}
		}
		if err := m.takeMember(f, i, a); err != nil {
			return err
		}
	}
	m.inputs = dataset.Scaler{Mean: make([]float64, a.Inputs), Deviation: make([]float64, a.Inputs)}
	m.scores = make([]float64, len(f.tensors["validation.errors"].data)/8)
	err := errors.Join(
		takeTensor(f, m.inputs.Mean, "inputs.mean", a.Inputs),
		takeTensor(f, m.inputs.Deviation, "inputs.deviation", a.Inputs),
		takeTensor(f, m.scores, "validation.errors", len(m.scores)),
	)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(m.inputs.Deviation, func(d float64) bool { return d < 0 }) {
		return errors.New("an input has a negative deviation")
	}
	if !slices.IsSorted(m.scores) || len(m.scores) > 0 && m.scores[0] < 0 {
		return errors.New("validation errors are negative or not sorted")
	}
	return nil
}

func (m *Model[T]) takeMember(f *tensorFile, member int, a fileArchitecture) error {
	width := a.sizes(a.Inputs)[len(a.Hidden)] + 1
	if err := checkTensor[float64](f, posteriorName(member), width, width); err != nil {
		return err
	}
	net, err := newZero[T](a.Inputs, a.Architecture)
	if err != nil {
		return err
	}
	for l := range net.Layers() {
		w := net.Weights(l)
		err = errors.Join(err, takeTensor(f, w.Data, weightName(member, l), w.Rows, w.Cols),
			takeTensor(f, net.Bias(l), biasName(member, l), w.Cols))
	}
	factor := matrix.New[float64](width, width)
	err = errors.Join(err, takeTensor(f, factor.Data, posteriorName(member), width, width))
	for i := range width {
		if d := factor.At(i, i); !(d > 0) || math.IsInf(1/d, 0) {
			err = errors.Join(err, fmt.Errorf("tensor %q: pivot %d is %v", posteriorName(member), i, d))
			break
		}
	}
	m.ensemble = append(m.ensemble, net)
	m.posteriors[member].factor = factor
	return err
}
