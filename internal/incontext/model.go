package incontext

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// What the network reads: as many labels as it was trained for, and twice as many columns.
const (
	MostLabels  = 1024
	MostColumns = 128
)

// Table is labelled rows. A column holds numbers, or the codes of levels from 0; NaN is a missing value.
type Table struct {
	Rows   matrix.Dense[float32]
	Levels []int // of each column; 0 means that it holds numbers
	Labels []float64
}

// check reports what the network cannot read.
func (t Table) check() error {
	switch {
	case len(t.Labels) != t.Rows.Rows || len(t.Levels) != t.Rows.Cols:
		return fmt.Errorf("%d labels and %d columns for rows of %d×%d", len(t.Labels), len(t.Levels), t.Rows.Rows,
			t.Rows.Cols)
	case len(t.Labels) < 2 || len(t.Labels) > MostLabels:
		return fmt.Errorf("%d labels: the network reads 2 to %d", len(t.Labels), MostLabels)
	case len(t.Levels) < 1 || len(t.Levels) > MostColumns:
		return fmt.Errorf("%d columns: the network reads 1 to %d", len(t.Levels), MostColumns)
	}
	for i, y := range t.Labels {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("label %d is %v", i, y)
		}
	}
	for i, v := range t.Rows.Data {
		if math.IsInf(float64(v), 0) {
			return fmt.Errorf("cell %d is infinite", i)
		}
	}
	return nil
}

// Model predicts rows of a table whose labelled rows it reads when it is first asked. Several goroutines may use it.
type Model struct {
	table Table
	views int
	read  sync.Mutex
	known []*readView
}

// readView is the labelled rows as one view shows them to the network.
type readView struct {
	view
	encoders []encoder
	labels   labels
	reading
}

// New returns a model of a table that averages some views.
func New(t Table, views int) (*Model, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if views < 1 || views > 64 {
		return nil, fmt.Errorf("%d views: there are 1 to 64", views)
	}
	t.Rows = t.Rows.Clone()
	t.Levels, t.Labels = slices.Clone(t.Levels), slices.Clone(t.Labels)
	return &Model{table: t, views: views}, nil
}

// Table returns what the model has learnt from, and how many views it averages. It shares memory with the model.
func (m *Model) Table() (Table, int) { return m.table, m.views }

// Memory returns the bytes that a model of this size keeps once it has predicted, and needs while it predicts: keys and
// values of each block for the tokens of labelled rows, and while tokens pass a block about ten times their width.
func Memory(labels, columns, views int) (bytes int64) {
	var a about
	if json.Unmarshal(manifest, &a) != nil { // which Predict reports
		return 0
	}
	const number, passing = 4, 10
	tokens, rows := int64(columns+1)/2+1, int64(labels+a.Shape.Thinking)
	kept := int64(views) * rows * int64(2*a.Shape.Blocks)
	return tokens * (kept + passing*max(rows, rowsTogether)) * int64(a.Shape.Width) * number
}

// rowsTogether is how many rows are predicted at once.
const rowsTogether = 512

// Distributions are of labels: for each row the probabilities of bins.
type Distributions struct {
	Edges         []float64             // of the bins, in the unit of the labels
	Probabilities matrix.Dense[float64] // a row for each
}

// Predict returns the distributions of the labels of rows.
func (m *Model) Predict(ctx context.Context, rows matrix.Dense[float32]) (Distributions, error) {
	n, err := theNetwork()
	if err != nil {
		return Distributions{}, err
	}
	if rows.Cols != m.table.Rows.Cols {
		return Distributions{}, fmt.Errorf("rows have %d columns, the model %d", rows.Cols, m.table.Rows.Cols)
	}
	known, err := m.readings(ctx, n)
	if err != nil {
		return Distributions{}, err
	}
	d := Distributions{Edges: make([]float64, len(n.edges)), Probabilities: matrix.New[float64](rows.Rows, len(n.edges)-1)}
	l := known[0].labels
	for i, e := range n.edges {
		d.Edges[i] = l.mean + l.deviation*e
	}
	for from := 0; from < rows.Rows; from += rowsTogether {
		to := min(from+rowsTogether, rows.Rows)
		for _, r := range known {
			if err := ctx.Err(); err != nil {
				return Distributions{}, err
			}
			n.answerTo(linalg.TeamOf(ctx), r, rows.Slice(from, to), d.Probabilities.Slice(from, to), 1/float64(len(known)))
		}
	}
	for _, p := range d.Probabilities.Data {
		if math.IsNaN(p) {
			return Distributions{}, errors.New("the network's answer is not a number")
		}
	}
	return d, nil
}

// readings returns the labelled rows as the network has read them.
func (m *Model) readings(ctx context.Context, n *network) ([]*readView, error) {
	m.read.Lock()
	defer m.read.Unlock()
	for len(m.known) < m.views {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.known = append(m.known, n.read(linalg.TeamOf(ctx), m.table, newView(len(m.known), len(m.table.Levels))))
	}
	return m.known, nil
}

// read lets the network read the labelled rows.
func (n *network) read(team *linalg.Team, t Table, v view) *readView {
	r := &readView{view: v, labels: newLabels(t.Labels)}
	cells := make([]float32, t.Rows.Rows)
	for k, j := range v.order {
		for i := range cells {
			cells[i] = t.Rows.At(i, j)
		}
		r.encoders = append(r.encoders, newEncoder(cells, t.Levels[j] > 0, v.seeds[k]))
	}
	shown := matrix.New[float32](t.Rows.Rows, labelSize)
	for i, y := range t.Labels {
		r.labels.put(shown.Row(i), y)
	}
	n.pass(team, n.enter(r, t.Rows, shown, n.thinking.Rows), &r.reading)
	return r
}

// enter makes tokens of rows, after `before` rows of the network's own. Shown has what it is shown of their labels.
func (n *network) enter(r *readView, rows, shown matrix.Dense[float32], before int) *tokens {
	t := n.newTokens(len(r.names)+1, before+rows.Rows)
	cells := n.cell.of(r.pairs(r.encoders, rows))
	label := n.label.of(shown)
	name := matrix.New[float32](1, n.width)
	for c := range t.columns {
		own := label
		clear(name.Data)
		if c < len(r.names) {
			own = cells.Slice(c*rows.Rows, (c+1)*rows.Rows)
			n.name.Mul(name, 1, matrix.View(1, nameSize, r.names[c]))
		}
		matrix.Copy(t.column(c, 0, before), n.thinking.Slice(0, before))
		matrix.Copy(t.column(c, before, t.rows), own)
		for i := range t.rows {
			vectors.Axpy(t.h.Row(c*t.rows+i), name.Data, 1)
		}
	}
	return t
}

// answerTo adds a share of the probabilities of bins for rows without labels.
func (n *network) answerTo(team *linalg.Team, r *readView, rows matrix.Dense[float32], to matrix.Dense[float64],
	share float64) {
	shown := matrix.New[float32](rows.Rows, labelSize)
	for i := range rows.Rows {
		shown.Row(i)[3] = r.labels.size
	}
	t := n.enter(r, rows, shown, 0)
	n.pass(team, t, &r.reading)
	last := t.column(t.columns-1, 0, t.rows)
	team.OverPieces(last.Rows, piece, func(_, a, z int) {
		x := last.Slice(a, z)
		rms(x, x, n.lastGain)
		hidden := n.hidden.of(x)
		silu(hidden.Data)
		logits := n.answer.of(hidden)
		for i := range logits.Rows {
			softmax(logits.Row(i))
			for b, p := range logits.Row(i) {
				to.Row(a + i)[b] += share * float64(p)
			}
		}
	})
}

// Moments returns the mean and the standard deviation of each distribution. Within a bin all labels are alike.
func (d Distributions) Moments() (means, deviations []float64) {
	for i := range d.Probabilities.Rows {
		mean, second, origin := 0.0, 0.0, d.Edges[0]
		for b, p := range d.Probabilities.Row(i) {
			width, centre := d.Edges[b+1]-d.Edges[b], (d.Edges[b]+d.Edges[b+1])/2-origin
			mean += p * centre
			second += p * (centre*centre + width*width/12)
		}
		means = append(means, origin+mean)
		deviations = append(deviations, math.Sqrt(max(0, second-mean*mean)))
	}
	return means, deviations
}
