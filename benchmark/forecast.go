package benchmark

import (
	"slices"
	"time"
)

// Forecast tells how long a grid will take, from the rounds that were done. The
// training of a round is forecast by its floating-point operations, the rest of
// it, features and selection above all, by what other rounds of the same method
// on the same data set took, or else by those of other data sets, or methods.
type Forecast struct {
	settings Settings
	jobs     int
	runs     []Run
	done     map[Run]int    // rounds
	members  map[string]int // networks that a spec needs
	works    map[workKey]float64

	training mean // seconds for each operation
	rest     [3]map[restKey]*mean
}

// mean is a sum of seconds over a sum of what they were spent on.
type mean struct{ seconds, units float64 }

func (m *mean) add(seconds, units float64) { m.seconds, m.units = m.seconds+seconds, m.units+units }

// restKey is what rounds have in common; empty fields stand for all.
type restKey struct{ set, spec string }

func restKeys(r Run) [3]restKey {
	return [3]restKey{{r.DataSet, r.Spec}, {"", r.Spec}, {"", ""}}
}

// NewForecast returns a forecast for runs of which so many rounds are done.
func NewForecast(s Settings, jobs int, runs []Run, done map[Run]int) *Forecast {
	f := &Forecast{settings: s.withDefaults(), jobs: max(1, jobs), runs: slices.Clone(runs), done: map[Run]int{}, members: map[string]int{}, works: map[workKey]float64{}}
	for _, r := range runs {
		if f.members[r.Spec] == 0 {
			spec, _ := r.Method() // was checked with the run
			f.members[r.Spec] = spec.Members()
		}
	}
	for i := range f.rest {
		f.rest[i] = map[restKey]*mean{}
	}
	f.Update(done)
	return f
}

// Update tells how many rounds of each run are done, by any process.
func (f *Forecast) Update(done map[Run]int) {
	for _, r := range f.runs {
		f.done[r] = max(f.done[r], done[r])
	}
}

// GiveUp leaves runs out that will not be done.
func (f *Forecast) GiveUp(runs ...Run) {
	f.runs = slices.DeleteFunc(f.runs, func(r Run) bool { return slices.Contains(runs, r) })
}

// Add takes a round into account.
func (f *Forecast) Add(r Record) {
	f.done[r.Run] = max(f.done[r.Run], r.Round.Round+1)
	f.training.add(r.Training, f.work(r.Run, r.Round.Round))
	if r.Round.Round == r.Rounds {
		return // it picks nothing: nearly all of it is training
	}
	for i, key := range restKeys(r.Run) {
		if f.rest[i][key] == nil {
			f.rest[i][key] = &mean{}
		}
		f.rest[i][key].add(r.Elapsed-r.Training, 1)
	}
}

// inputs of a network do not matter much beside its hidden layers.
const forecastInputs = 16

// workKey is what the operations of a training depend on.
type workKey struct {
	activation string
	rows       int
}

// work counts the operations of the training in a round.
func (f *Forecast) work(r Run, round int) float64 {
	key := workKey{r.Activation, f.settings.Start + round*r.BatchSize}
	if f.works[key] == 0 {
		f.works[key] = f.settings.network(r.Activation, 0, 0).Work(forecastInputs, key.rows, f.settings.Valid)
	}
	return float64(f.members[r.Spec]) * f.works[key]
}

// Rounds returns how many rounds are done, of how many.
func (f *Forecast) Rounds() (done, of int) {
	for _, r := range f.runs {
		done += min(f.done[r], r.Rounds+1)
		of += r.Rounds + 1
	}
	return done, of
}

// Left is how long the rest will take, if this process does it alone. It is not
// known before a round has been done.
func (f *Forecast) Left() (left time.Duration, known bool) {
	if f.training.units == 0 {
		return 0, false
	}
	rate := f.training.seconds / f.training.units
	seconds := 0.0
	for _, r := range f.runs {
		rest := f.restOf(r)
		for round := f.done[r]; round <= r.Rounds; round++ {
			seconds += rate * f.work(r, round)
			if round < r.Rounds {
				seconds += rest
			}
		}
	}
	return time.Duration(seconds / float64(f.jobs) * float64(time.Second)), true
}

func (f *Forecast) restOf(r Run) float64 {
	for i, key := range restKeys(r) {
		if m := f.rest[i][key]; m != nil {
			return m.seconds / m.units
		}
	}
	return 0
}
