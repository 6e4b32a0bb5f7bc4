package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network/onnx"
	"github.com/nextbatch/nextbatch/selection"
)

// A checkpoint is a file of JSON lines: what decides the picks, then each choice as it is made.
// An incomplete last line is ignored. The file is removed when the batch has been written.

// selected is all that decides the picks. Runs that are equal in it pick the same rows.
type selected struct {
	Build  build             `json:"nextbatch"`
	Device string            `json:"device"` // empty: the CPU
	Flags  map[string]string `json:"flags"`  // all of them, but for those of changesNoPick
	Files  map[string]string `json:"files"`  // size and time of each input
}

// changesNoPick reports whether a flag has no influence on the picks. A limit on memory, and
// sharing the work, may move work from a device to the CPU, whose last digits are others.
func changesNoPick(flag string, onDevice bool) bool {
	switch flag {
	case "checkpoint", "device", "dry-run", "help", "json", "out", "quiet", "report", "temp-dir", "threads":
		return true
	case "max-memory", "mpi":
		return !onDevice
	}
	return false
}

func (s *selecting) selected(ctx context.Context) (selected, error) {
	is := selected{Build: thisBuild(), Flags: map[string]string{}, Files: map[string]string{}}
	if d := device.Of(ctx); d != nil {
		is.Device = d.Describe()
	}
	s.net.flags.VisitAll(func(f *pflag.Flag) {
		if !changesNoPick(f.Name, is.Device != "") {
			is.Flags[f.Name] = f.Value.String()
		}
	})
	paths, err := s.readPaths()
	if err != nil {
		return is, dataError{err}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return is, dataError{err}
		}
		is.Files[path] = fmt.Sprintf("%d bytes, of %s", info.Size(),
			info.ModTime().UTC().Format("2006-01-02T15:04:05.999999999Z"))
	}
	return is, nil
}

// readPaths lists the files that the run reads, one by one.
func (s *selecting) readPaths() (paths []string, err error) {
	for _, f := range s.inputFiles() {
		if f.path == "" {
			continue
		}
		some, err := formats.Files(f.path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, some...)
	}
	if isDescription(s.model) {
		weights, err := onnx.WeightsFile(s.model)
		if err != nil {
			return nil, err
		}
		paths = append(paths, weights)
	}
	return paths, nil
}

// changes lists what is not as it was in an earlier run.
func (is selected) changes(was selected) (list []string) {
	simd, isBuild, wasBuild := is.Build.SIMD != was.Build.SIMD, is.Build, was.Build
	isBuild.SIMD, wasBuild.SIMD = "", ""
	if isBuild != wasBuild {
		list = append(list, "the program")
	}
	if simd {
		list = append(list, "the instruction set (NEXTBATCH_SIMD)")
	}
	if is.Device != was.Device {
		list = append(list, "the device (--device)")
	}
	for _, name := range changedKeys(is.Flags, was.Flags) {
		list = append(list, "--"+name)
	}
	return append(list, changedKeys(is.Files, was.Files)...)
}

// changedKeys returns the keys whose values differ, or that only one of two maps has.
func changedKeys(a, b map[string]string) (keys []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[key]
		y, inB := b[key]
		if x != y || inA != inB {
			keys = append(keys, key)
		}
	}
	return keys
}

// earlier is what the checkpoint of a run that was cut off holds.
type earlier struct {
	head    []byte // what decides the picks of this run, as a line
	lines   []byte // whole lines of choices
	choices []selection.Choice
}

// resume takes over the choices of a run that was cut off, if there is one. With other
// processes, rank 0 reads the file and sends the choices to all.
func (s *selecting) resume(ctx context.Context) error {
	if err := s.agree(ctx, s.readCheckpoint(ctx)); err != nil {
		return err
	}
	lines, err := s.fromRank0(s.earlier.lines)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return nil
	}
	_, s.earlier.choices = wholeLines(lines)
	s.plan.Resume(s.earlier.choices)
	s.progress.say("going on after %s", words.Count(len(s.earlier.choices), "row", "rows"))
	return nil
}

// readCheckpoint reads the file, on the one process that writes it.
func (s *selecting) readCheckpoint(ctx context.Context) error {
	if !s.keepsCheckpoint() {
		return nil
	}
	is, err := s.selected(ctx)
	if err != nil {
		return err
	}
	head, err := json.Marshal(is)
	if err != nil {
		return err
	}
	s.earlier.head = append(head, '\n')
	text, err := os.ReadFile(s.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return dataError{errorf("--checkpoint: %w", err)}
	}
	rest, ours := bytes.CutPrefix(text, s.earlier.head)
	if !ours && !isCutOff(text) {
		return dataError{errorf("%s is not of this selection: %s; repeat the command that wrote it to resume, or remove it "+
			"to start from the beginning", s.checkpoint, is.difference(text))}
	}
	if ours {
		s.earlier.lines, _ = wholeLines(rest)
	}
	return nil
}

// difference explains why a checkpoint is not of this selection.
func (is selected) difference(text []byte) string {
	var was selected
	head, _, _ := bytes.Cut(text, []byte("\n"))
	err := json.Unmarshal(head, &was)
	list := is.changes(was)
	if err != nil || len(list) == 0 {
		return "it is not a checkpoint of this program"
	}
	return words.List(list) + map[bool]string{true: " has", false: " have"}[len(list) == 1] + " changed"
}

// keepsCheckpoint reports whether this process reads and writes the checkpoint.
func (s *selecting) keepsCheckpoint() bool {
	return s.checkpoint != "" && (s.ranks == nil || s.ranks.Rank() == 0)
}

// isCutOff reports whether a checkpoint ends within its first line, as a full disk leaves it:
// there are no picks in it.
func isCutOff(text []byte) bool {
	const start = `{"nextbatch":`
	return !bytes.Contains(text, []byte("\n")) && strings.HasPrefix(string(text[:min(len(text), len(start))]),
		start[:min(len(text), len(start))])
}

// wholeLines reads choices up to a line that was cut off.
func wholeLines(text []byte) (whole []byte, choices []selection.Choice) {
	end := 0
	for line := range bytes.Lines(text) {
		var c selection.Choice
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &c) != nil {
			break
		}
		choices = append(choices, c)
		end += len(line)
	}
	return text[:end], choices
}

// keep writes each new choice to the checkpoint. End closes the file, and removes it if the
// batch has been written.
func (s *selecting) keep() (end func(written bool), err error) {
	if !s.keepsCheckpoint() {
		return func(bool) {}, nil
	}
	file, err := s.openCheckpoint()
	if err != nil {
		return nil, errorf("--checkpoint: %w", err)
	}
	write, known, failed := json.NewEncoder(file), len(s.earlier.choices), false
	s.plan.Picked(func(c selection.Choice) {
		if known--; known >= 0 || failed {
			return
		}
		if err := write.Encode(c); err != nil {
			failed = true
			//warning:incomplete-checkpoint
			s.progress.warn(fmt.Sprintf("the checkpoint %s is not complete: %v", s.checkpoint, err))
		}
	})
	return func(written bool) {
		file.Close()
		if written {
			os.Remove(s.checkpoint)
		}
	}, nil
}

// openCheckpoint opens the file at the end of what it holds of this selection.
func (s *selecting) openCheckpoint() (*os.File, error) {
	file, err := os.OpenFile(s.checkpoint, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	end := int64(len(s.earlier.head) + len(s.earlier.lines))
	if len(s.earlier.lines) == 0 {
		end = 0
	}
	_, err = file.Seek(end, io.SeekStart)
	err = errors.Join(err, file.Truncate(end))
	if end == 0 && err == nil {
		_, err = file.Write(s.earlier.head)
	}
	if err != nil {
		file.Close()
	}
	return file, err
}
