package server

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/postgres"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Results of benchmarks are files that 'nextbatch bench run' writes, or a database. Curves and
// tables are those of 'nextbatch bench report --against paper'.

// BenchmarkFile is a results file, or a database of results.
type BenchmarkFile struct {
	Name    string    `json:"name"`
	Changed time.Time `json:"changed"`
	Bytes   int64     `json:"bytes"`
}

// BenchmarkResults is what a results file holds.
type BenchmarkResults struct {
	Name    string           `json:"name"`
	Notes   []string         `json:"notes" doc:"what to know before comparing"`
	Curves  []BenchmarkPoint `json:"curves"`
	Tables  []BenchmarkTable `json:"tables"`
	Metrics []string         `json:"metrics"`
	Paper   []Published      `json:"paper" doc:"the paper's numbers for the same settings"`
}

// BenchmarkPoint is a point of a learning curve: a mean over the splits of a data set.
type BenchmarkPoint struct {
	Setting string `json:"setting" doc:"activation, rows of a batch, batches"`
	Set     string `json:"set"`
	Spec    string `json:"spec"`
	Metric  string `json:"metric"`
	Round   int    `json:"round"`
	Labels  int    `json:"labels"`
	Mean    number `json:"mean" doc:"of the logarithm of the metric"`
	SE      number `json:"se" doc:"standard error; null for a single split"`
	Splits  int    `json:"splits"`
}

// BenchmarkTable is a table of a report.
type BenchmarkTable struct {
	Section string     `json:"section"`
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Note    string     `json:"note"`
	Header  []string   `json:"header"`
	Rows    [][]string `json:"rows"`
}

// Published is a number of the paper: the mean logarithm of a metric over rounds,
// splits and its 15 data sets.
type Published struct {
	Activation string `json:"activation"`
	Spec       string `json:"spec"`
	Metric     string `json:"metric"`
	Mean       number `json:"mean"`
}

func (s *Server) benchmarkRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "list-benchmarks", Method: http.MethodGet, Path: "/v1/benchmarks",
		Summary: "Results files of benchmarks",
	}, s.listBenchmarks)
	route(s, Viewer, huma.Operation{
		OperationID: "get-benchmark", Method: http.MethodGet, Path: "/v1/benchmarks/{name}",
		Summary: "Curves and tables of a results file",
	}, s.getBenchmark)
	route(s, Viewer, huma.Operation{
		OperationID: "get-benchmark-progress", Method: http.MethodGet, Path: "/v1/benchmarks/{name}/progress",
		Summary: "Progress, forecast and workers of a benchmark",
	}, s.getBenchmarkProgress)
}

// isDatabase reports whether results are in a PostgreSQL database.
func isDatabase(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// resultsFiles returns the results files by name; a database has the name of its address.
func (s *Server) resultsFiles() (map[string]string, error) {
	files := map[string]string{}
	add := func(path string) { files[strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))] = path }
	if s.options.Results == "" {
		return files, nil
	}
	if isDatabase(s.options.Results) {
		name, err := postgres.Name(s.options.Results)
		files[name] = s.options.Results
		return files, err
	}
	info, err := os.Stat(s.options.Results)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		add(s.options.Results)
		return files, nil
	}
	found, err := filepath.Glob(filepath.Join(s.options.Results, "*.db"))
	for _, path := range found {
		add(path)
	}
	return files, err
}

// openBenchmark opens results for reading.
func openBenchmark(ctx context.Context, name, path string) (reader benchmark.Reader, err error) {
	if isDatabase(path) {
		reader, err = postgres.OpenReadOnly(ctx, path)
	} else {
		reader, err = sqlite.OpenReadOnly(ctx, path)
	}
	return reader, unreadable(name, err)
}

// unreadable reports that results cannot be read, but not where they are.
func unreadable(name string, err error) error {
	if err == nil || away(err) {
		return err
	}
	return huma.Error422UnprocessableEntity(fmt.Sprintf("%s cannot be read as results of a benchmark", name))
}

// describeBenchmark reports when results changed.
func describeBenchmark(ctx context.Context, name, path string) (BenchmarkFile, error) {
	if !isDatabase(path) {
		info, err := os.Stat(path)
		if err != nil {
			return BenchmarkFile{}, err
		}
		return BenchmarkFile{name, info.ModTime().UTC(), info.Size()}, nil
	}
	store, err := postgres.OpenReadOnly(ctx, path)
	if err != nil {
		return BenchmarkFile{}, err
	}
	defer store.Close()
	bytes, changed, err := store.Size(ctx)
	return BenchmarkFile{name, changed.UTC(), bytes}, err
}

func (s *Server) listBenchmarks(ctx context.Context, _ *struct{}) (*output[[]BenchmarkFile], error) {
	files, err := s.resultsFiles()
	if err != nil {
		return nil, err
	}
	list := []BenchmarkFile{}
	for name, path := range files {
		file, err := describeBenchmark(ctx, name, path)
		if err != nil {
			continue // it was removed in the meantime, or cannot be reached
		}
		list = append(list, file)
	}
	slices.SortFunc(list, func(a, b BenchmarkFile) int { return strings.Compare(a.Name, b.Name) })
	return answer(list, nil)
}

// findBenchmark returns where the results of a name are.
func (s *Server) findBenchmark(name string) (string, error) {
	files, err := s.resultsFiles()
	if err != nil {
		return "", err
	}
	path, there := files[name]
	if !there {
		return "", huma.Error404NotFound("there are no such results; 'nextbatch serve --results' names them")
	}
	return path, nil
}

type benchmarkName struct {
	Name string `path:"name" maxLength:"200" doc:"name of the file, without its extension, or of the database"`
}

func (s *Server) getBenchmark(ctx context.Context, in *benchmarkName) (*output[BenchmarkResults], error) {
	path, err := s.findBenchmark(in.Name)
	if err != nil {
		return nil, err
	}
	version, err := describeBenchmark(ctx, path, path)
	if err != nil {
		return nil, unreadable(in.Name, err)
	}
	return answer(cacheGet(&s.results, cacheKey{group: "benchmark " + path, version: version},
		func() (BenchmarkResults, int64, error) {
			r, err := readBenchmark(context.WithoutCancel(ctx), in.Name, path)
			return r, int64(len(r.Curves)) * 200, err
		}))
}

func (s *Server) getBenchmarkProgress(ctx context.Context, in *benchmarkName) (*output[wire.BenchmarkProgress], error) {
	path, err := s.findBenchmark(in.Name)
	if err != nil {
		return nil, err
	}
	store, err := openBenchmark(ctx, in.Name, path)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return answer(progressOf(ctx, store))
}

func progressOf(ctx context.Context, store benchmark.Reader) (wire.BenchmarkProgress, error) {
	p := wire.BenchmarkProgress{Workers: []wire.BenchmarkWorker{}}
	status, err := store.Status(ctx)
	if err != nil {
		return p, err
	}
	settings, err := store.Settings(ctx)
	if err != nil {
		return p, err
	}
	workers, err := store.Workers(ctx)
	if err != nil {
		return p, err
	}
	for _, r := range status {
		p.Add(r)
		if r.Failed() {
			p.Failed++
		}
	}
	outlook, err := benchmark.OutlookOf(ctx, store, settings, status)
	if err != nil {
		return p, err
	}
	if p.RoundsDone, p.Rounds = outlook.Done, outlook.Total; outlook.Known {
		seconds := outlook.Left.Seconds()
		p.SecondsLeft = &seconds
	}
	for _, w := range workers {
		p.Workers = append(p.Workers, wire.BenchmarkWorker{Host: w.Host, Process: w.PID, Started: w.Started.UTC(),
			Runs: w.Runs, CPU: w.CPU})
	}
	return p, nil
}

// readBenchmark computes the curves and tables of a results file.
func readBenchmark(ctx context.Context, name, path string) (BenchmarkResults, error) {
	r := BenchmarkResults{Name: name, Notes: []string{}, Curves: []BenchmarkPoint{}, Tables: []BenchmarkTable{},
		Metrics: []string{}, Paper: []Published{}}
	store, err := openBenchmark(ctx, name, path)
	if err != nil {
		return r, err
	}
	defer store.Close()
	results, err := benchmark.ReadResults(ctx, store)
	if err != nil {
		return r, err
	}
	status, err := store.Status(ctx)
	if err != nil {
		return r, err
	}
	settings, err := store.Settings(ctx)
	if err != nil {
		return r, err
	}
	var planned []benchmark.Run
	for _, run := range status {
		planned = append(planned, run.Run)
	}
	for _, m := range benchmark.AllMetrics() {
		r.Metrics = append(r.Metrics, m.String())
	}
	if len(results) == 0 {
		r.Notes = append(r.Notes, "There are no results yet.")
		return r, nil
	}
	if differences := settings.DifferencesFromPaper(); len(differences) > 0 {
		r.Notes = append(r.Notes, "These runs differ from the paper's experiments: "+strings.Join(differences, "; ")+".")
	}
	studies := benchmark.NewStudies(results, planned)
	for _, study := range studies {
		r.Curves = append(r.Curves, curves(study)...)
	}
	r.Paper = published(studies)
	page, err := report.Benchmark(results, planned, true)
	if err != nil {
		return r, err
	}
	r.Notes = append(r.Notes, page.Intro...)
	for _, section := range page.Sections {
		for _, t := range section.Tables {
			table, err := tableOf(section.Title, t)
			if err != nil {
				return r, err
			}
			r.Tables = append(r.Tables, table)
		}
	}
	return r, nil
}

// curves returns the learning curves of a study, for each data set.
func curves(study *benchmark.Study) (list []BenchmarkPoint) {
	setting := fmt.Sprintf("%s, %d × %d", study.Activation, study.Rounds, study.BatchSize)
	for _, method := range study.Finished() {
		for _, set := range study.DataSets {
			if study.Runs(method, set) == 0 {
				continue
			}
			for _, metric := range benchmark.AllMetrics() {
				for round, mean := range study.Curve(metric, method, set) {
					list = append(list, BenchmarkPoint{
						Setting: setting, Set: set, Spec: method, Metric: metric.String(), Round: round, Labels: study.Labels[round],
						Mean: number(mean.Value), SE: number(mean.StdErr), Splits: mean.Runs,
					})
				}
			}
		}
	}
	return list
}

// published returns the paper's numbers for the methods of studies with its settings.
func published(studies []*benchmark.Study) []Published {
	list := []Published{}
	for _, study := range studies {
		for _, m := range benchmark.PaperMethods() {
			if study.Setting != benchmark.PaperSetting(m.Activation) {
				continue
			}
			if _, ours := study.Find(m.Spec); !ours {
				continue
			}
			for _, metric := range benchmark.AllMetrics() {
				if v, there := m.Log[metric]; there && !math.IsNaN(v) {
					list = append(list, Published{m.Activation, m.Spec, metric.String(), number(v)})
				}
			}
		}
	}
	return list
}

// tableOf returns a table of a report as text.
func tableOf(section string, t *report.Table) (BenchmarkTable, error) {
	table := BenchmarkTable{Section: section, Name: t.Name, Title: t.Title, Note: t.Note,
		Header: []string{}, Rows: [][]string{}}
	var text bytes.Buffer
	if err := t.WriteCSV(&text); err != nil {
		return table, err
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(rows) == 0 {
		return table, err
	}
	table.Header, table.Rows = rows[0], append(table.Rows, rows[1:]...)
	return table, nil
}
