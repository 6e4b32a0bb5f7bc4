package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// readExperiment reads an experiment from a TOML file; the help of bench run shows one.
func readExperiment(path string) (benchmark.Experiment, error) {
	var e benchmark.Experiment
	file, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer file.Close()
	err = toml.NewDecoder(file).DisallowUnknownFields().Decode(&e)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		line, _ := unknown.Errors[0].Position()
		return e, fmt.Errorf("%s, line %d: there is no field %q", path, line, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		line, column := wrong.Position()
		return e, fmt.Errorf("%s, line %d, column %d: %s", path, line, column, gridProblem(wrong))
	case err != nil:
		return e, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// gridProblem describes what is wrong with a value, without naming Go types.
func gridProblem(err *toml.DecodeError) string {
	if key := strings.Join(err.Key(), "."); strings.Contains(err.Error(), "cannot decode") {
		return fmt.Sprintf("%s has a value of the wrong kind", key)
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}
