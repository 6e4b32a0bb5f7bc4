package benchmark

import (
	"slices"
	"time"
)

// Forecast predicts how long a grid will take from the rounds done so far. The
// training time of a round is predicted from its floating-point operations. The
// overhead, mostly features and selection, is that of other rounds of the same
// method on the same data set, or else of other data sets, or of other methods.
type Forecast struct {
	settings Settings
	jobs     int
	runs     []Run
	done     map[Run]int    // rounds
	members  map[string]int // networks that a spec needs
	works    map[workKey]float64

	training mean // seconds per operation
	overhead [3]map[overheadKey]*mean
}

// mean is a sum of seconds divided by the amount of work that they were spent on.
type mean struct{ seconds, units float64 }

func (m *mean) add(seconds, units float64) { m.seconds, m.units = m.seconds+seconds, m.units+units }

// overheadKey is what rounds have in common; an empty field matches everything.
type overheadKey struct{ set, spec string }

// overheadKeys lists the keys of a run, from the most specific on.
func overheadKeys(r Run) [3]overheadKey {
	return [3]overheadKey{{r.DataSet, r.Spec}, {"", r.Spec}, {"", ""}}
}

// NewForecast returns a forecast for runs; done counts their finished rounds.
func NewForecast(s Settings, jobs int, runs []Run, done map[Run]int) *Forecast {
	f := &Forecast{settings: s.withDefaults(), jobs: max(1, jobs), runs: slices.Clone(runs), done: map[Run]int{}, members: map[string]int{}, works: map[workKey]float64{}}
	for i := range f.overhead {
		f.overhead[i] = map[overheadKey]*mean{}
	}
	f.Update(done)
	return f
}

// Update records how many rounds of each run are done, by any process.
func (f *Forecast) Update(done map[Run]int) {
	for _, r := range f.runs {
		f.done[r] = max(f.done[r], done[r])
	}
}

// GiveUp removes runs that will not be performed.
func (f *Forecast) GiveUp(runs ...Run) {
	f.runs = slices.DeleteFunc(f.runs, func(r Run) bool { return slices.Contains(runs, r) })
}

// Add learns from a finished round.
func (f *Forecast) Add(r Record) {
	f.done[r.Run] = max(f.done[r.Run], r.Round.Round+1)
	f.training.add(r.Training, f.work(r.Run, r.Round.Round))
	if r.Round.Round == r.Rounds {
		return // it selects nothing: nearly all of it is training
	}
	f.addOverhead(r.Run, r.Elapsed-r.Training, 1)
}

func (f *Forecast) addOverhead(r Run, seconds, rounds float64) {
	for i, key := range overheadKeys(r) {
		if f.overhead[i][key] == nil {
			f.overhead[i][key] = &mean{}
		}
		f.overhead[i][key].add(seconds, rounds)
	}
}

// Learn learns from all rounds of a run that a store holds, none of which was added before.
func (f *Forecast) Learn(s RunStatus) {
	f.done[s.Run] = max(f.done[s.Run], s.Done)
	work := 0.0
	for round := range s.Done {
		work += f.work(s.Run, round)
	}
	f.training.add(s.Training, work)
	if selecting := min(s.Done, s.Run.Rounds); selecting > 0 {
		f.addOverhead(s.Run, s.Seconds-s.Training, float64(selecting))
	}
}

// forecastInputs stands in for the number of inputs, which matters little beside
// the hidden layers.
const forecastInputs = 16

// workKey is what the number of operations of a training run depends on.
type workKey struct {
	activation string
	rows       int
}

// work counts the training operations of a round.
func (f *Forecast) work(r Run, round int) float64 {
	key := workKey{r.Activation, f.settings.Start + round*r.BatchSize}
	if f.works[key] == 0 {
		f.works[key] = f.settings.network(r.Activation, 0, 0).Work(forecastInputs, key.rows, f.settings.Valid)
	}
	return f.networks(r) * f.works[key]
}

// networks returns how many networks a round of the run trains.
func (f *Forecast) networks(r Run) float64 {
	if f.members[r.Spec] == 0 {
		spec, _ := r.Method() // checked with the run
		f.members[r.Spec] = max(1, spec.Members())
	}
	return float64(f.members[r.Spec])
}

// Rounds returns how many rounds are done, out of how many.
func (f *Forecast) Rounds() (done, total int) {
	for _, r := range f.runs {
		done += min(f.done[r], r.Rounds+1)
		total += r.Rounds + 1
	}
	return done, total
}

// Left is how long the remaining rounds will take this process alone. It is
// unknown until a round is done.
func (f *Forecast) Left() (left time.Duration, known bool) {
	if f.training.units == 0 {
		return 0, false
	}
	rate := f.training.seconds / f.training.units
	seconds := 0.0
	for _, r := range f.runs {
		overhead := f.overheadOf(r)
		for round := f.done[r]; round <= r.Rounds; round++ {
			seconds += rate * f.work(r, round)
			if round < r.Rounds {
				seconds += overhead
			}
		}
	}
	return time.Duration(seconds / float64(f.jobs) * float64(time.Second)), true
}

func (f *Forecast) overheadOf(r Run) float64 {
	for i, key := range overheadKeys(r) {
		if m := f.overhead[i][key]; m != nil {
			return m.seconds / m.units
		}
	}
	return 0
}

// Outlook counts the rounds of the runs in a store, and predicts how long those that are left
// will take with as many runs at the same time as now. That is unknown until a round is done and
// while nobody works.
func Outlook(s Settings, list []RunStatus) (done, total int, left time.Duration, known bool) {
	var runs []Run
	working := 0
	for _, of := range list {
		runs = append(runs, of.Run)
		if of.Working {
			working++
		}
	}
	f := NewForecast(s, working, runs, nil)
	for _, of := range list {
		f.Learn(of)
	}
	done, total = f.Rounds()
	if done == total {
		return done, total, 0, true
	}
	if working == 0 || total > mostRounds {
		return done, total, 0, false
	}
	left, known = f.Left()
	return done, total, left, known
}

// mostRounds is how many rounds a store may have for a forecast, several times those of the
// paper: a file from elsewhere may claim any number.
const mostRounds = 1 << 22
