package benchmark

import (
	"context"
	"slices"
	"time"
)

// Forecast predicts how long a grid will take from the rounds done so far. A round costs
// the floating-point operations of its training, and an overhead, mostly features and
// selection: that of other rounds of the same method on the same data set, or else of other
// data sets, or of other methods. The overhead counts as the operations that training would have
// done in that time, so it stays the same when the machine becomes slower. How long an
// operation takes, the latest rounds tell.
type Forecast struct {
	settings Settings
	jobs     int
	runs     []Run
	done     map[Run]int    // rounds
	members  map[string]int // networks that a spec needs
	works    map[workKey]float64

	overhead [3]map[overheadKey]*perRound
	learnt   int      // rounds
	latest   []Timing // of these, in the order in which they ended
}

// perRound is the number of operations per round.
type perRound struct{ operations, rounds float64 }

// overheadKey is what rounds have in common; an empty field matches everything.
type overheadKey struct{ set, spec string }

// overheadKeys lists the keys of a run, from the most specific on.
func overheadKeys(r Run) [3]overheadKey {
	return [3]overheadKey{{r.DataSet, r.Spec}, {"", r.Spec}, {"", ""}}
}

// NewForecast returns a forecast for runs; done counts their finished rounds.
func NewForecast(s Settings, jobs int, runs []Run, done map[Run]int) *Forecast {
	f := &Forecast{settings: s.WithDefaults(), jobs: max(1, jobs), runs: slices.Clone(runs), done: map[Run]int{},
		members: map[string]int{}, works: map[workKey]float64{}}
	for i := range f.overhead {
		f.overhead[i] = map[overheadKey]*perRound{}
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
	f.learnt++
	if len(f.latest) == 2*mostLatest {
		f.latest = slices.Delete(f.latest, 0, mostLatest)
	}
	f.latest = append(f.latest, Timing{r.Run, r.Round.Round, r.Training, r.Elapsed})
	if r.Round.Round < r.Rounds { // the last one selects nothing: nearly all of it is training
		f.addOverhead(r.Run, f.work(r.Run, r.Round.Round), r.Training, r.Elapsed, 1)
	}
}

// addOverhead learns from rounds whose trainings took the given number of operations.
func (f *Forecast) addOverhead(r Run, work, training, elapsed float64, rounds int) {
	if training <= 0 || rounds == 0 {
		return
	}
	for i, key := range overheadKeys(r) {
		m := f.overhead[i][key]
		if m == nil {
			m = &perRound{}
			f.overhead[i][key] = m
		}
		m.operations += work * max(0, elapsed-training) / training
		m.rounds += float64(rounds)
	}
}

// learn learns from all rounds of a run that a store holds, none of which was added before.
func (f *Forecast) learn(s RunStatus) {
	f.done[s.Run] = max(f.done[s.Run], s.Done)
	f.learnt += s.Done
	work := 0.0
	for round := range s.Done {
		work += f.work(s.Run, round)
	}
	f.addOverhead(s.Run, work, s.Training, s.Seconds, min(s.Done, s.Run.Rounds))
}

// forecastInputs is assumed for the number of inputs, which matters little beside
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
		f.works[key] = f.settings.network(r.Activation, 0, 0).Work(forecastInputs, key.rows, max(0, f.settings.Valid))
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
	pace, known := f.pace()
	if !known {
		return 0, false
	}
	operations := 0.0
	for _, r := range f.runs {
		for round := f.done[r]; round <= r.Rounds; round++ {
			operations += f.cost(r, round)
		}
	}
	return time.Duration(pace * operations / float64(f.jobs) * float64(time.Second)), true
}

// cost is what a round costs, in operations of its training.
func (f *Forecast) cost(r Run, round int) float64 {
	if round == r.Rounds {
		return f.work(r, round)
	}
	return f.work(r, round) + f.overheadOf(r)
}

// mostLatest bounds how many rounds decide the pace.
const mostLatest = 1 << 12

// pace is how many seconds an operation took in the latest rounds. Training on few rows takes
// longer per operation, so rounds with few and with many labels should take part alike: the
// latest are as many as a run has, for each run under way, but between an eighth and a
// quarter of the rounds so far, and not fewer than four.
func (f *Forecast) pace() (pace float64, known bool) {
	_, total := f.Rounds()
	cycle := f.jobs * total / max(1, len(f.runs))
	window := min(mostLatest, max(4, f.learnt/8, min(f.learnt/4, cycle)))
	seconds, operations := 0.0, 0.0
	for _, t := range f.latest[max(0, len(f.latest)-window):] {
		operations += f.cost(t.Run, t.Round)
		if t.Round < t.Run.Rounds {
			seconds += t.Elapsed
		} else {
			seconds += t.Training
		}
	}
	return seconds / operations, operations > 0
}

func (f *Forecast) overheadOf(r Run) float64 {
	for i, key := range overheadKeys(r) {
		if m := f.overhead[i][key]; m != nil {
			return m.operations / m.rounds
		}
	}
	return 0
}

// Outlook is how far the runs in a store are.
type Outlook struct {
	Done, Total int           // rounds
	Left        time.Duration // that the other rounds will take with as many runs at the same time as now
	Known       bool          // Left is; it is not until a round is done and while nobody works
}

// OutlookOf returns the outlook of runs in a store with the given settings.
func OutlookOf(ctx context.Context, r Reader, s Settings, list []RunStatus) (o Outlook, err error) {
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
		f.learn(of)
	}
	o.Done, o.Total = f.Rounds()
	o.Known = o.Done == o.Total
	if o.Known || working == 0 || o.Total > mostRounds {
		return o, nil
	}
	if f.latest, err = r.Latest(ctx, mostLatest); err != nil {
		return o, err
	}
	o.Left, o.Known = f.Left()
	return o, nil
}

// mostRounds is how many rounds a store may have for a forecast, several times those of the
// paper: a file from elsewhere may claim any number.
const mostRounds = 1 << 22
