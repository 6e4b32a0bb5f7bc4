// Package options says what each door calls an option: the command line, requests over HTTP, the JSON of settings and
// asks, the page of the service, and Python. Messages name options by it, so that advice is worded where it is given.
package options

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
)

// names are what the doors call an option; empty where a door has none.
type names struct {
	flag, setting, parameter, argument string
}

// table has the options under the names of their fields, first those of a nextbatch.Request and of the settings of a
// campaign, and then those of a source.Options, whose Missing is MissingMarks here. Where there is no parameter,
// uploads have the setting.
var table = map[string]names{
	"Audit":          {"--audit", "audit", "", "audit"},
	"Aims":           {"--targets", "", "", "target"},
	"Batch":          {"-n", "batch", "", "n"},
	"Budget":         {"--budget", "budget", "", "budget"},
	"Categorical":    {"--categorical", "categorical", "", "categorical"},
	"Controls":       {"--controls", "controls", "", "controls"},
	"CostColumn":     {"--cost", "cost_column", "", "cost"},
	"Earlier":        {"--earlier", "", "", "earlier"},
	"Exclude":        {"--exclude", "exclude", "", "exclude"},
	"Features":       {"--pool-features", "", "", "pool"},
	"Features.Train": {"--train-features", "", "", "train"},
	"Folder":         {"--temp-dir", "", "", ""},
	"Given":          {"", "", "", "learners"},
	"GroupColumn":    {"--group", "group_column", "", "group"},
	"GroupIsInput":   {"--group-input", "group_is_input", "", "group_input"},
	"IDColumn":       {"--id", "id_column", "id", "id"},
	"Keep":           {"--keep", "keep", "keep", "keep"},
	"LabelSD":        {"--label-sd", "", "", "label_sd"},
	"Latest":         {"--latest", "latest", "", ""},
	"Learner":        {"--learner", "learner", "learner", "learner"},
	"Lease":          {"--lease", "lease", "lease", "lease"},
	"MaxGroups":      {"--at-most-groups", "at_most_groups", "", "at_most_groups"},
	"Members":        {"--ensemble", "members", "", "ensemble"},
	"MinPerGroup":    {"--min-per-group", "min_per_group", "", "min_per_group"},
	"Missing":        {"--missing", "missing", "", "missing"},
	"Model":          {"--model", "", "", "model"},
	"Must":           {"--must", "must", "", "must"},
	"Ordered":        {"", "ordered", "", ""},
	"Pending":        {"--pending", "", "", "pending"},
	"PerCost":        {"--cost-aware", "per_cost", "", "cost_aware"},
	"PerGroup":       {"--per-group", "per_group", "", "per_group"},
	"Plate":          {"--plate", "plate", "", "plate"},
	"Pool":           {"--pool", "", "", "pool"},
	"RandomColumn":   {"--random-column", "", "", "random_column"},
	"RandomStart":    {"--random-start", "random_start", "random_start", ""},
	"Ranges":         {"--range", "range", "range", "range"},
	"ReplicateShare": {"--replicate-share", "replicate_share", "", "replicate_share"},
	"Replicates":     {"--replicates", "replicates", "", "replicates"},
	"Runs":           {"--runs", "runs", "", "runs"},
	"Same":           {"--same", "same", "", "same"},
	"Seed":           {"--seed", "seed", "", "seed"},
	"Spec":           {"--method", "spec", "", "method"},
	"TargetColumns":  {"--target", "targets", "target", "y"},
	"Threads":        {"--threads", "", "", "threads"},
	"Train":          {"--train", "", "", "labelled"},
	"Weights":        {"--weights", "weights", "", "weights"},

	"Network.Architecture.Activation": {"--activation", "", "", "activation"},
	"Network.Architecture.Hidden":     {"--hidden", "hidden", "", "hidden"},
	"Network.Training.Epochs":         {"--epochs", "", "", "epochs"},

	"Array":        {"--sheet", "", "", ""},
	"Censored":     {"--censored", "", "censored", "censored"},
	"Decimal":      {"--decimal", "", "decimal", ""},
	"Delimiter":    {"--sep", "", "separator", ""},
	"Encoding":     {"--encoding", "", "encoding", ""},
	"Format":       {"--format", "", "format", ""},
	"Ignore":       {"--ignore", "", "ignore", ""},
	"Kinds":        {"--categorical", "", "", "categorical"},
	"Lod":          {"--lod", "lod", "lod", "lod"},
	"MissingMarks": {"--missing-marks", "", "missing_marks", ""},
	"Thousands":    {"--thousands", "", "thousands", ""},

	"Device":    {"--device", "", "", "NEXTBATCH_DEVICE"},
	"MaxMemory": {"--max-memory", "", "", "NEXTBATCH_MAX_MEMORY"},
}

// fields are the names of fields on the page of the service, where they differ from those of settings.
var fields = map[string]string{"Batch": "rows", "GroupColumn": "“Column of groups”", "MaxGroups": "“Most groups”",
	"MinPerGroup": "“Fewest per group”", "PerGroup": "“Most per group”", "ReplicateShare": "“Share of repeats”"}

// marks are the names of separators and marks: on the command line, where most stand for themselves, and over HTTP.
var marks = map[string][2]string{",": {",", "comma"}, ";": {";", "semicolon"}, "\t": {"tab", "tab"}, "|": {"|", "bar"},
	" ": {"space", "blank"}, ".": {".", "point"}, "'": {"'", "apostrophe"}}

// NameOf returns what parameters call a separator or mark, such as comma; empty for none.
func NameOf(mark byte) string { return marks[string(mark)][1] }

// MarkOf returns the separator or mark that parameters call by this name; 0 for none.
func MarkOf(name string) byte {
	for mark, names := range marks {
		if names[1] == name {
			return mark[0]
		}
	}
	return 0
}

// Flag words an option, with its value if one is given, as an argument of the command: --decimal ,
func Flag(option string, value ...string) string {
	flag := table[option].flag
	if flag == "" || len(value) == 0 {
		return flag
	}
	text := value[0]
	if isMark(option) {
		text = marks[text][0]
	}
	return flag + " " + words.Argument(text)
}

// Setting words an option as the JSON of settings and asks has it: missing="drop", keep=["x"]
func Setting(option string, value ...string) string {
	if option == "Ranges" && len(value) > 0 {
		return fmt.Sprintf(`%s=["%s"]`, table[option].setting, strings.ReplaceAll(value[0], ",", `", "`))
	}
	return named(option, table[option].setting, value)
}

// Field words an option as the page of the service does: “Most per group”
func Field(option string, value ...string) string {
	if name := fields[option]; name != "" {
		return name
	}
	return Setting(option, value...)
}

// Parameter words an option as a parameter of a request that uploads a table: decimal=comma
func Parameter(option string, value ...string) string {
	parameter := table[option].parameter
	if parameter == "" || len(value) == 0 {
		return cmp.Or(parameter, Setting(option, value...))
	}
	text := value[0]
	switch {
	case isMark(option):
		text = marks[text][1]
	case strings.Contains(text, " "):
		text = fmt.Sprintf("%q", text)
	}
	return parameter + "=" + text
}

// Argument words an option as an argument of a Python function: categorical=["x"]
func Argument(option string, value ...string) string {
	argument := table[option].argument
	switch {
	case argument == "" || len(value) == 0:
		return argument
	case option == "Lod" || strings.HasPrefix(argument, "NEXTBATCH_"): // a number, and variables of the environment
		return argument + "=" + value[0]
	}
	return named(option, argument, value)
}

func named(option, name string, value []string) string {
	switch {
	case name == "" || len(value) == 0:
		return name
	case option == "Categorical" || option == "Keep" || option == "Kinds": // lists of columns
		return fmt.Sprintf("%s=[%q]", name, value[0])
	}
	return fmt.Sprintf("%s=%q", name, value[0])
}

// Copy copies the options that are given from one struct to fields of the same names in another. Either may have a
// pointer to what the other has. Without a function that says so, those are given that are not nil, zero or empty.
func Copy(to, from any, given func(option string) bool) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for option := range table {
		place, value := target.FieldByName(option), source.FieldByName(option)
		if !place.IsValid() || !value.IsValid() || given == nil && value.IsZero() || given != nil && !given(option) {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if place.Kind() == reflect.Pointer {
			place.Set(reflect.New(place.Type().Elem()))
			place = place.Elem()
		}
		place.Set(value.Convert(place.Type()))
	}
}

func isMark(option string) bool { return option == "Decimal" || option == "Delimiter" }

// A Hint ends the message of an error: with an option that helps, and the words around it. A door that does not have
// the option says Otherwise instead.
type Hint struct {
	Before, Option, After string
	Value                 []string // one, or none
	Otherwise             string
}

// In words hints as a door does.
func In(door func(option string, value ...string) string, hints ...Hint) (text string) {
	for _, h := range hints {
		if option := door(h.Option, h.Value...); option != "" {
			text += h.Before + option + h.After
		} else {
			text += h.Otherwise
		}
	}
	return text
}

// Hinted is an error with hints.
type Hinted interface {
	error
	Hints() []Hint
}

type hinted struct {
	error
	hints []Hint
}

func (e hinted) Hints() []Hint { return e.hints }
func (e hinted) Unwrap() error { return e.error }

// Advise adds hints to an error.
func Advise(err error, hints ...Hint) error { return hinted{err, hints} }

// A Fault is what is wrong with an option, which the message begins with.
type Fault struct {
	Option string
	Cause  error
}

func (f *Fault) Error() string { return f.In(Setting) }
func (f *Fault) Unwrap() error { return f.Cause }

// In words the fault as a door does.
func (f *Fault) In(door func(option string, value ...string) string) string {
	return cmp.Or(door(f.Option), f.Option) + ": " + f.Cause.Error()
}

// Error returns the message of an error as a door words it: with its names of options that are wrong, and with the
// hints of the first error in it that has some.
func Error(door func(option string, value ...string) string, err error) string {
	text, hinted := err.Error(), Hinted(nil)
	for _, f := range faults(err) {
		text = strings.Replace(text, f.Error(), f.In(door), 1)
	}
	if !errors.As(err, &hinted) {
		return text
	}
	before, after, _ := strings.Cut(text, hinted.Error())
	return before + hinted.Error() + In(door, hinted.Hints()...) + after
}

// faults returns the faults in an error.
func faults(err error) (list []*Fault) {
	switch e := err.(type) {
	case *Fault:
		return []*Fault{e}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			list = append(list, faults(inner)...)
		}
	case interface{ Unwrap() error }:
		return faults(e.Unwrap())
	}
	return list
}
