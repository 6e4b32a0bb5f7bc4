package incontext

import (
	"crypto/sha256"
	_ "embed" // the weights
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

//go:embed weights.safetensors
var weightsFile []byte

//go:embed weights.json
var manifest []byte

// about is what the manifest says of the weights.
type about struct {
	SHA256 string `json:"sha256"`
	Tables int    `json:"tables"`
	Shape  struct {
		Width     int     `json:"width"`
		Blocks    int     `json:"blocks"`
		Expand    int     `json:"expand"`
		Thinking  int     `json:"thinking"`
		Bins      int     `json:"bins"`
		EdgeScale float64 `json:"edge_scale"`
		EdgeReach float64 `json:"edge_reach"`
	} `json:"shape"`
}

// theNetwork reads the weights once. It needs a tenth of a second.
var theNetwork = sync.OnceValues(func() (*network, error) { return readNetwork(weightsFile, manifest) })

// Version names the weights of this program: models of other weights predict otherwise.
func Version() string {
	sum := sha256.Sum256(weightsFile)
	return hex.EncodeToString(sum[:8])
}

// readNetwork reads a network from the file and the manifest that training/incontext/weights.py writes.
func readNetwork(file, manifest []byte) (*network, error) {
	var a about
	if err := json.Unmarshal(manifest, &a); err != nil {
		return nil, fmt.Errorf("manifest of the weights: %w", err)
	}
	if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != a.SHA256 {
		return nil, errors.New("the weights are damaged: their checksum is not that of the manifest")
	}
	t, err := readTensors(file)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	s := a.Shape
	w, heads := s.Width, s.Width/headSize
	n := &network{width: w, heads: heads, expanded: s.Expand * w, edges: make([]float64, s.Bins+1)}
	for i := range n.edges {
		at := s.EdgeReach * (2*float64(i)/float64(s.Bins) - 1)
		n.edges[i] = s.EdgeScale * math.Sinh(at)
	}
	n.cell = t.embedding("cell", 2*cellSize, w)
	n.label = t.embedding("label", labelSize, w)
	n.name = t.packed("name", w, nameSize)
	n.thinking = matrix.View(s.Thinking, w, t.take("thinking", s.Thinking, w))
	n.lastGain = t.take("last_gain", w)
	n.hidden = affine{t.packed("hidden.weight", 4*w, w), t.take("hidden.bias", 4*w)}
	n.answer = affine{t.packed("answer.weight", s.Bins, 4*w), t.take("answer.bias", s.Bins)}
	columnGain, rowGain := t.take("blocks.column_gain", s.Blocks, w), t.take("blocks.row_gain", s.Blocks, w)
	gain, sharpness := t.take("blocks.mlp_gain", s.Blocks, w), t.take("blocks.sharpness", s.Blocks, 2, heads)
	columnIn, columnOut := t.stack("blocks.column_qkv", s.Blocks, 3*w, w), t.stack("blocks.column_out", s.Blocks, w, w)
	rowIn, rowOut := t.stack("blocks.row_qkv", s.Blocks, 3*w, w), t.stack("blocks.row_out", s.Blocks, w, w)
	up, down := t.stack("blocks.up", s.Blocks, s.Expand*w, w), t.stack("blocks.down", s.Blocks, w, s.Expand*w)
	if t.err != nil {
		return nil, fmt.Errorf("weights: %w", t.err)
	}
	for i := range s.Blocks {
		n.blocks = append(n.blocks, block{
			columnGain: columnGain[i*w : (i+1)*w], rowGain: rowGain[i*w : (i+1)*w], gain: gain[i*w : (i+1)*w],
			columnIn: columnIn[i], columnOut: columnOut[i], rowIn: rowIn[i], rowOut: rowOut[i], up: up[i], down: down[i],
			sharpness: sharpness[2*i*heads : 2*(i+1)*heads],
		})
	}
	return n, nil
}

// tensors are those of a safetensors file in bf16. The first error stays.
type tensors struct {
	entries map[string]entry
	data    []byte
	err     error
}

type entry struct {
	Type  string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    [2]int `json:"data_offsets"`
}

func readTensors(file []byte) (*tensors, error) {
	if len(file) < 8 {
		return nil, errors.New("the file is too short")
	}
	size := binary.LittleEndian.Uint64(file)
	if size > uint64(len(file)-8) {
		return nil, errors.New("its header is cut off")
	}
	header := map[string]json.RawMessage{}
	if err := json.Unmarshal(file[8:8+size], &header); err != nil {
		return nil, err
	}
	t := &tensors{entries: map[string]entry{}, data: file[8+size:]}
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		t.entries[name] = e
	}
	return t, nil
}

// take returns the numbers of a tensor of this shape, and zeros where the file has none.
func (t *tensors) take(name string, shape ...int) []float32 {
	count := 1
	for _, n := range shape {
		count *= n
	}
	list := make([]float32, count)
	e, known := t.entries[name]
	switch {
	case t.err != nil:
	case !known:
		t.err = fmt.Errorf("there is no tensor %s", name)
	case e.Type != "BF16" || !slices.Equal(e.Shape, shape):
		t.err = fmt.Errorf("tensor %s is %s %d, not BF16 %d", name, e.Type, e.Shape, shape)
	case e.At[0] < 0 || e.At[1]-e.At[0] != 2*count || e.At[1] > len(t.data):
		t.err = fmt.Errorf("tensor %s lies outside the file", name)
	default:
		for i := range list {
			bits := binary.LittleEndian.Uint16(t.data[e.At[0]+2*i:])
			list[i] = math.Float32frombits(uint32(bits) << 16)
		}
	}
	return list
}

// packed returns a matrix of weights, ready to be multiplied by from the right, transposed.
func (t *tensors) packed(name string, rows, cols int) *linalg.Packed[float32] {
	return linalg.Pack(matrix.View(rows, cols, t.take(name, rows, cols)), linalg.Trans)
}

// stack returns the matrices of all blocks.
func (t *tensors) stack(name string, blocks, rows, cols int) (list []*linalg.Packed[float32]) {
	all := t.take(name, blocks, rows, cols)
	for i := range blocks {
		one := matrix.View(rows, cols, all[i*rows*cols:])
		list = append(list, linalg.Pack(one, linalg.Trans))
	}
	return list
}

func (t *tensors) embedding(name string, inputs, width int) embedding {
	return embedding{
		straight: affine{t.packed(name+".straight.weight", width, inputs), t.take(name+".straight.bias", width)},
		up:       affine{t.packed(name+".up.weight", width, inputs), t.take(name+".up.bias", width)},
		down:     t.packed(name+".down.weight", width, width),
	}
}
