package network

import "fmt"

// Schedule is the course of the learning rate over a training of T steps: it
// rises linearly from zero to Rate at the step Peak·T and falls linearly to zero
// at step T,
//
//	rate(t) = Rate·(t/T)/Peak            for t/T < Peak
//	rate(t) = Rate·(1 - t/T)/(1 - Peak)  otherwise, t = 0 … T-1
//
// The zero value is the paper's: it starts at Rate and only falls.
type Schedule struct {
	Peak float64 `json:"peak"` // at least 0, below 1
}

// The schedules that have names.
var (
	Linear = Schedule{}
	WarmUp = Schedule{Peak: 0.1}
	Hat    = Schedule{Peak: 0.5}
)

// factor is the factor of the learning rate in a step.
func (s Schedule) factor(step, steps int) float64 {
	t := float64(step) / float64(steps)
	if t < s.Peak {
		return t / s.Peak
	}
	return (1 - t) / (1 - s.Peak)
}

func (s Schedule) check() error {
	if s.Peak >= 0 && s.Peak < 1 {
		return nil
	}
	return fmt.Errorf("the schedule's peak is %v, but must be at least 0 and below 1", s.Peak)
}
