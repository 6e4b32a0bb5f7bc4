package fitted

import (
	"encoding/json"
	"math"
)

// Float is a float64 that JSON can hold: null where it is not finite.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler: null is NaN.
func (f *Float) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*f = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(raw, (*float64)(f))
}
