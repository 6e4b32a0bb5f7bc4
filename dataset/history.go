package dataset

import "math"

// History is what is known of the labels in a column before a file with more of them is read.
type History struct {
	Unit    string  `json:"unit,omitempty"`    // of the labels
	Labels  int     `json:"labels"`            // how many there are; without any, a file may say the unit
	Low     float64 `json:"low,omitempty"`     // the smallest size of a label but zero; 0 if there is none
	High    float64 `json:"high,omitempty"`    // the largest size
	Decimal string  `json:"decimal,omitempty"` // the mark of the file in which the column began; empty is a point
}

// Add adds labels. Missing ones are NaN.
func (h *History) Add(labels ...float64) {
	for _, y := range labels {
		size := math.Abs(y)
		if math.IsNaN(y) {
			continue
		}
		if h.Labels++; size > 0 && (h.Low == 0 || size < h.Low) {
			h.Low = size
		}
		h.High = max(h.High, size)
	}
}

// Like reports whether numbers between two sizes are like the labels.
func (h *History) Like(low, high float64) bool {
	const reach = 3
	return h.Low > 0 && low >= h.Low/reach && high <= h.High*reach
}

// Mark returns the decimal mark.
func (h *History) Mark() byte {
	if h.Decimal == "," {
		return ','
	}
	return '.'
}
