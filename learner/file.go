package learner

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/trees"
	"github.com/nextbatch/nextbatch/network"
)

// A network alone is saved as package network saves it. A blend is saved as
//
//	magic             which names the version of the container
//	length (uint32)   of the head, little-endian as all numbers
//	head              fileHead as JSON: what is blended, and the lengths of the pieces
//	pieces            one after another: networks (safetensors), processes (JSON), trees
//	checksum          CRC-32 (IEEE) of all bytes before it
const magic = "nextbatch blend 1\n"

// newerMagic begins the file of a blend that earlier versions cannot read: with processes of labels on another scale,
// or with other prior beliefs, or with the in-context network.
const newerMagic = "nextbatch blend 2\n"

type fileHead struct {
	Kind     Kind            `json:"kind"`
	Inputs   encode.Scaler   `json:"inputs"`
	Columns  *encode.Encoder `json:"columns,omitempty"`
	Centres  []float64       `json:"centres,omitempty"`
	Source   string          `json:"source"`
	Rows     int             `json:"rows"`
	Device   string          `json:"device,omitempty"`
	Targets  []fileTarget    `json:"targets"`
	Ranges   dataset.Ranges  `json:"range,omitempty"`
	Networks int             `json:"networks"` // pieces; then, for each target, processes, extra trees, boosting
	Lengths  []int           `json:"lengths"`  // of the pieces, in bytes
}

type fileTarget struct {
	Name       string              `json:"name,omitempty"`
	Candidates []Candidate         `json:"candidates"`
	Parts      []filePart          `json:"parts"`
	Factor     float64             `json:"factor"`
	RMSE       float64             `json:"rmse"`
	Weighed    bool                `json:"weighed,omitempty"`
	Intervals  conformal.Intervals `json:"intervals"`
	Scores     []float64           `json:"scores"`
	Counts     []float64           `json:"counts,omitempty"`
	Processes  int                 `json:"processes"`        // pieces: that of all labels, then those of the folds
	Sparse     int                 `json:"sparse,omitempty"` // likewise, with these beliefs
	Stationary int                 `json:"stationary,omitempty"`
	Noise      float64             `json:"noise,omitempty"` // mean of the known variances of the labels
	Scaled     *fileScaled         `json:"scaled,omitempty"`
	Extra      int                 `json:"extra"` // pieces: those of the folds, then that of all labels
	Boosting   int                 `json:"boosting"`
	InContext  int                 `json:"inContext,omitempty"`
}

// fileScaled is processes of labels on another scale.
type fileScaled struct {
	scale
	Processes int       `json:"processes"` // pieces, as those of a target
	Errors    []float64 `json:"errors"`
	Typical   float64   `json:"typical"`
	Noise     float64   `json:"noise,omitempty"` // as that of a target
}

type filePart struct {
	Name     string  `json:"name"`
	Weight   float64 `json:"weight"`
	Factor   float64 `json:"factor"`
	Constant float64 `json:"constant"`
	Given    bool    `json:"given,omitempty"` // it was fitted elsewhere
}

// Save writes the model to a file, which appears under its name only when it is complete.
func (m *Model) Save(path string) error {
	raw, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, raw)
}

// Load reads a file that Save wrote, or network.Model.Save.
func Load(path string) (*Model, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &Model{}
	if err := m.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// MarshalBinary returns the contents of the file that Save writes. The same model gives the same bytes.
func (m *Model) MarshalBinary() ([]byte, error) {
	own, err := m.marshalAlone()
	if err != nil || len(m.Earlier) == 0 {
		return own, err
	}
	return m.marshalAfter(own)
}

// marshalAlone returns the contents of the file of the model without earlier ones.
func (m *Model) marshalAlone() ([]byte, error) {
	switch {
	case !m.Fitted():
		return nil, network.ErrNotFitted
	case m.blended == nil:
		return m.alone.MarshalBinary()
	case m.single:
		return nil,
			errors.New("the model of one of several targets cannot be saved by itself: save the first, which holds them all")
	}
	head, pieces, err := m.blended.describe()
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		head.Lengths = append(head.Lengths, len(p))
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	first := magic
	for _, t := range head.Targets {
		if t.Scaled != nil || t.Sparse+t.Stationary+t.InContext > 0 {
			first = newerMagic
		}
	}
	b := binary.LittleEndian.AppendUint32([]byte(first), uint32(len(text)))
	b = append(b, text...)
	for _, p := range pieces {
		b = append(b, p...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// describe returns the head and the pieces of a file.
func (m *blended) describe() (head fileHead, pieces [][]byte, err error) {
	add := func(piece []byte, failed error) {
		pieces, err = append(pieces, piece), errors.Join(err, failed)
	}
	head = fileHead{Kind: m.kind, Inputs: m.inputs, Columns: m.columns, Centres: m.centres, Source: m.source, Rows: m.rows,
		Device: m.device, Ranges: m.ranges, Networks: len(m.networks)}
	for _, n := range m.networks {
		add(n.MarshalBinary())
	}
	for _, t := range m.targets {
		b := t.blend
		one := fileTarget{Name: t.name, Candidates: b.candidates, Factor: b.factor, RMSE: b.rmse, Weighed: b.weighed,
			Intervals: b.intervals, Scores: b.scores, Counts: b.counts}
		var boosting *forest
		var inContext *contextual
		gaussian := map[gp.Prior]*processes{gp.Alike: t.process}
		for _, p := range b.parts {
			switch own := p.predictor.(type) {
			case *onScale, networks, given:
			case *contextual:
				inContext = own
			case processes:
				gaussian[own.prior] = &own
			case *forest:
				if !own.apart {
					boosting = own
				}
			default:
				return head, nil,
					fmt.Errorf("the blend cannot be saved, because it needs %s, which is not one of this program's own learners",
						p.name)
			}
			_, elsewhere := p.predictor.(given)
			one.Parts = append(one.Parts, filePart{p.name, p.weight, p.factor, p.constant, elsewhere})
		}
		for prior, count := range one.processes() {
			if set := gaussian[gp.Prior(prior)]; set != nil {
				*count, one.Noise = addProcesses(*set, add), set.noise
			}
		}
		if s := t.scaled; s != nil {
			one.Scaled = &fileScaled{s.scale, addProcesses(s.processes, add), s.errors, s.typical, s.noise}
		}
		for _, set := range []struct {
			of    *forest
			count *int
		}{{t.forest, &one.Extra}, {boosting, &one.Boosting}} {
			if set.of == nil {
				continue
			}
			*set.count = len(set.of.models)
			for _, tree := range set.of.models {
				add(tree.MarshalBinary())
			}
		}
		if inContext != nil {
			one.InContext = 1
			add(inContext.MarshalBinary())
		}
		head.Targets = append(head.Targets, one)
	}
	return head, pieces, err
}

// addProcesses adds a piece for each process, and returns how many there are.
func addProcesses(p processes, add func(piece []byte, failed error)) int {
	for _, g := range append([]*gp.Model{p.whole}, p.folds...) {
		add(json.Marshal(g.Describe()))
	}
	return 1 + len(p.folds)
}

// UnmarshalBinary reads what MarshalBinary returned. On an error the model does not change.
func (m *Model) UnmarshalBinary(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(magicEarlier)) {
		read, err := unmarshalAfter(raw)
		if err != nil {
			return fmt.Errorf("the file of a model with earlier data is damaged: %w", err)
		}
		*m = *read
		return nil
	}
	if !bytes.HasPrefix(raw, []byte(magic)) && !bytes.HasPrefix(raw, []byte(newerMagic)) {
		alone := &network.Model{}
		if err := alone.UnmarshalBinary(raw); err != nil {
			return err
		}
		*m = Model{alone: alone}
		return nil
	}
	head, pieces, err := unpack(raw)
	if err != nil {
		return fmt.Errorf("the file of a blend is damaged: %w", err)
	}
	read, err := restore(head, pieces)
	if err != nil {
		return fmt.Errorf("the file of a blend is damaged: %w", err)
	}
	*m = Model{blended: read}
	return nil
}

// unpack checks the frame of a file and cuts it into its pieces.
func unpack(raw []byte) (head fileHead, pieces [][]byte, err error) {
	le, rest := binary.LittleEndian, raw[len(magic):]
	if len(rest) < 8 || crc32.ChecksumIEEE(raw[:len(raw)-4]) != le.Uint32(raw[len(raw)-4:]) {
		return head, nil, errors.New("its checksum is wrong")
	}
	size := int(le.Uint32(rest))
	rest = rest[4 : len(rest)-4]
	if size > len(rest) {
		return head, nil, fmt.Errorf("its head has %d bytes, but %d follow", size, len(rest))
	}
	if err := json.Unmarshal(rest[:size], &head); err != nil {
		return head, nil, err
	}
	rest = rest[size:]
	for _, n := range head.Lengths {
		if n < 0 || n > len(rest) {
			return head, nil, fmt.Errorf("a piece has %d bytes, but %d follow", n, len(rest))
		}
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	if len(rest) > 0 {
		return head, nil, fmt.Errorf("%d bytes follow the last piece", len(rest))
	}
	return head, pieces, nil
}

// restore makes a model from the parts of a file.
func restore(head fileHead, pieces [][]byte) (*blended, error) {
	if err := head.check(len(pieces)); err != nil {
		return nil, err
	}
	m := &blended{
		kind: head.Kind, inputs: head.Inputs, columns: head.Columns, centres: head.Centres,
		source: head.Source, rows: head.Rows, device: head.Device, ranges: head.Ranges,
		targets: make([]fitted, len(head.Targets)),
	}
	take := func(n int) [][]byte {
		some := pieces[:n]
		pieces = pieces[n:]
		return some
	}
	for _, piece := range take(head.Networks) {
		n := &network.Model{}
		if err := n.UnmarshalBinary(piece); err != nil {
			return nil, err
		}
		if inputs, _ := n.Scaling(); n.Targets() != len(head.Targets) || len(inputs.Mean) != len(head.Inputs.Mean) {
			return nil, errors.New("a network has other inputs or targets than the blend")
		}
		m.networks = append(m.networks, n)
	}
	for k, from := range head.Targets {
		if err := m.restoreTarget(k, from, take); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// restoreTarget reads the models of a target and puts them into its blend.
func (m *blended) restoreTarget(k int, from fileTarget, take func(n int) [][]byte) error {
	to := &m.targets[k]
	to.name = from.Name
	var columns []Column
	if m.columns != nil {
		columns = columnsOf(m.columns)
	}
	fold := newFolding(columns, m.inputs)
	var err error
	gaussian := make([]*processes, len(processNames))
	for prior, count := range from.processes() {
		gaussian[prior], err = restoreProcesses(take(*count), gp.Prior(prior), from.Noise, len(m.inputs.Mean))
		if err != nil {
			return err
		}
	}
	to.process = gaussian[gp.Alike]
	if s := from.Scaled; s != nil {
		on, err := restoreProcesses(take(s.Processes), gp.Alike, s.Noise, len(m.inputs.Mean))
		if err != nil {
			return err
		}
		to.scaled = &onScale{*on, s.scale, s.Errors, s.Typical}
	}
	if to.forest, err = restoreForest(take(from.Extra), fold, true); err != nil {
		return err
	}
	boosting, err := restoreForest(take(from.Boosting), fold, false)
	if err != nil {
		return err
	}
	inContext, err := restoreContextual(take(from.InContext), fold)
	if err != nil {
		return err
	}
	b := &blend{candidates: from.Candidates, factor: from.Factor, rmse: from.RMSE, weighed: from.Weighed,
		intervals: from.Intervals, scores: from.Scores, counts: from.Counts}
	for _, p := range from.Parts {
		var predictor Predictor
		prior := slices.Index(processNames[:], p.Name)
		switch {
		case p.Given:
			predictor = given{name: p.Name, target: k}
		case prior >= 0 && gaussian[prior] != nil:
			predictor = *gaussian[prior]
		case p.Name == scaledProcess{}.Name() && to.scaled != nil:
			predictor = to.scaled
		case p.Name == ExtraTreesName && to.forest != nil:
			predictor = to.forest
		case p.Name == boostedTrees{}.Name() && boosting != nil:
			predictor = boosting
		case p.Name == NetworkName && len(m.networks) > 0:
			predictor = networks{m.networks, k}
		case p.Name == string(InContext) && inContext != nil:
			predictor = inContext
		default:
			return fmt.Errorf("the models of %q are missing", p.Name)
		}
		b.parts = append(b.parts, part{p.Name, p.Weight, p.Factor, p.Constant, predictor})
	}
	to.blend = b
	return nil
}

// processes are the numbers of pieces of processes, by their prior beliefs.
func (t *fileTarget) processes() []*int {
	return []*int{gp.Alike: &t.Processes, gp.Sparse: &t.Sparse, gp.Stationary: &t.Stationary}
}

// restoreProcesses returns processes, and nil if there are none.
func restoreProcesses(pieces [][]byte, prior gp.Prior, noise float64, inputs int) (*processes, error) {
	var list []*gp.Model
	for _, piece := range pieces {
		var d gp.Description
		if err := json.Unmarshal(piece, &d); err != nil {
			return nil, err
		}
		if d.Inputs != inputs {
			return nil, fmt.Errorf("a Gaussian process takes %d inputs, the blend %d", d.Inputs, inputs)
		}
		g, err := gp.Restore(context.Background(), d)
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	if list == nil {
		return nil, nil
	}
	return &processes{prior: prior, whole: list[0], folds: list[1:], noise: noise}, nil
}

func restoreForest(pieces [][]byte, fold *folding, apart bool) (*forest, error) {
	if len(pieces) == 0 {
		return nil, nil
	}
	f := &forest{fold: fold, apart: apart}
	for _, piece := range pieces {
		m := &trees.Model{}
		if err := m.UnmarshalBinary(piece); err != nil {
			return nil, err
		}
		if got, want := len(m.Columns()), len(fold.columns); got != want {
			return nil, fmt.Errorf("trees take %d columns, the blend %d", got, want)
		}
		f.models = append(f.models, m)
	}
	return f, nil
}

// check reports a head that MarshalBinary cannot have written.
func (h *fileHead) check(pieces int) error {
	count := h.Networks
	inputs := len(h.Inputs.Mean)
	switch {
	case h.Kind.Check("the learner") != nil || !h.Kind.Blends():
		return fmt.Errorf("the learner is %q", h.Kind)
	case inputs == 0 || len(h.Inputs.Deviation) != inputs || !allFinite(h.Inputs.Mean) || !allFinite(h.Inputs.Deviation):
		return errors.New("the scaling of the inputs is wrong")
	case len(h.Targets) == 0 || h.Networks < 0 || h.Rows < 1:
		return errors.New("there are no targets, or less than no networks or rows")
	case h.Centres != nil && (h.Columns != nil || len(h.Centres) != inputs || !allFinite(h.Centres)):
		return errors.New("the centres do not fit the inputs")
	case h.Ranges.Check(len(h.Targets)) != nil:
		return h.Ranges.Check(len(h.Targets))
	}
	if h.Columns != nil {
		if err := h.Columns.Check(); err != nil {
			return err
		}
		if got := len(h.Columns.Features()); got != inputs {
			return fmt.Errorf("the columns have %d features, the model %d inputs", got, inputs)
		}
	}
	for _, t := range h.Targets {
		for _, n := range append(t.processes(), &t.Extra, &t.Boosting, &t.InContext) {
			if *n < 0 || *n > pieces {
				return errors.New("the numbers of models are wrong")
			}
			count += *n
		}
		if s := t.Scaled; s != nil {
			if s.Processes < 1 || s.Processes > pieces {
				return errors.New("the numbers of models are wrong")
			}
			if err := s.check(); err != nil {
				return err
			}
			count += s.Processes
		}
		if err := t.check(); err != nil {
			return err
		}
	}
	if count != pieces {
		return fmt.Errorf("there are %d pieces, but the head describes %d", pieces, count)
	}
	return nil
}

func (s *fileScaled) check() error {
	if !s.scale.check() || len(s.Errors) == 0 || !(s.Typical >= 0) ||
		!allFinite(append([]float64{s.Typical}, s.Errors...)) {
		return errors.New("the scale of the labels is wrong")
	}
	return nil
}

func (t *fileTarget) check() error {
	sum := 0.0
	for _, p := range t.Parts {
		if !(p.Weight > 0) || !(p.Factor >= 0) || !(p.Constant >= 0) ||
			!allFinite([]float64{p.Weight, p.Factor, p.Constant}) {
			return fmt.Errorf("the weight or the deviations of %q are wrong", p.Name)
		}
		sum += p.Weight
	}
	i := t.Intervals
	switch {
	case math.Abs(sum-1) > 1e-6:
		return fmt.Errorf("the weights sum to %v", sum)
	case !(t.Factor >= 0) || !(t.RMSE >= 0) || !allFinite([]float64{t.Factor, t.RMSE, i.Floor, i.Typical,
		i.ConstantScore, i.AdaptiveScore}):
		return errors.New("the error of the blend is wrong")
	case i.Rows != len(t.Scores) || i.Folds < 0 || i.Random < 0 || i.Random > i.Rows || i.Outside < 0 ||
		i.Outside > i.Rows || i.Floor < 0 || i.Typical < 0 || i.Adaptive() && i.Typical == 0:
		return errors.New("the intervals are wrong")
	case t.Counts != nil && (len(t.Counts) != len(t.Scores) || !allFinite(t.Counts) ||
		slices.ContainsFunc(t.Counts, func(c float64) bool { return c <= 0 })):
		return errors.New("the counts of the intervals are wrong")
	case !slices.IsSorted(t.Scores) || !allFinite(t.Scores) || len(t.Scores) > 0 && t.Scores[0] < 0:
		return errors.New("the scores of the intervals are wrong")
	}
	return nil
}

func allFinite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x-x != 0 })
}
