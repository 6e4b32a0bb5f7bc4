package network

import (
	"encoding/binary"
	"math"
)

// Tensor is a tensor of a safetensors file, in float32 and row-major.
type Tensor struct {
	Shape   []int
	Numbers []float32
}

// ReadTensors reads a safetensors file of another program. Tensors of integers, such as
// counters of training steps, are ignored.
func ReadTensors(raw []byte) (map[string]Tensor, error) {
	f, err := decodeTensors(raw)
	if err != nil {
		return nil, err
	}
	tensors := map[string]Tensor{}
	for name, t := range f.tensors {
		size, _ := sizeOf(t.dtype)
		numbers := make([]float32, 0, uint64(len(t.data))/size)
		for data := t.data; len(data) > 0; data = data[size:] {
			switch t.dtype {
			case "F32":
				numbers = append(numbers, math.Float32frombits(binary.LittleEndian.Uint32(data)))
			case "F64":
				numbers = append(numbers, float32(math.Float64frombits(binary.LittleEndian.Uint64(data))))
			case "BF16":
				numbers = append(numbers, math.Float32frombits(uint32(binary.LittleEndian.Uint16(data))<<16))
			}
		}
		if t.dtype == "F32" || t.dtype == "F64" || t.dtype == "BF16" {
			tensors[name] = Tensor{t.shape, numbers}
		}
	}
	return tensors, nil
}
