package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/selection"
)

// A checkpoint is a file of JSON lines: what is selected from, then each choice as it is made.
// A last line that is cut off is left out. The file is removed when the batch is complete.

// selected says what is selected from. Runs with the same words pick the same rows.
type selected struct {
	Version string   `json:"nextbatch"`
	Method  string   `json:"method"`
	Batch   int      `json:"batch"`
	Seed    uint64   `json:"seed"`
	Pool    int      `json:"pool"`
	Files   []string `json:"files"`
}

func (s *selecting) selected() (selected, error) {
	is := selected{Version: thisBuild().Version, Method: s.request.Spec.String(), Batch: s.plan.Batch, Seed: s.net.seed, Pool: s.plan.Pool}
	for _, f := range s.inputFiles() {
		paths := []string{f.path}
		if isPattern(f.path) {
			paths, _ = filepath.Glob(f.path) // a wrong pattern was refused before
		}
		for _, path := range paths {
			if path == "" {
				continue
			}
			info, err := os.Stat(path)
			if err != nil {
				return is, dataError{err}
			}
			is.Files = append(is.Files, fmt.Sprintf("%s, %d bytes, of %s", path, info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05.999999999Z")))
		}
	}
	return is, nil
}

// earlier is what the checkpoint of a run that was cut off holds.
type earlier struct {
	choices []selection.Choice
	bytes   int64 // up to the end of the last whole line
}

// resume reads the checkpoint of a run that was cut off, if there is one.
func (s *selecting) resume() error {
	if s.checkpoint == "" {
		return nil
	}
	text, err := os.ReadFile(s.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return dataError{errorf("--checkpoint: %w", err)}
	}
	is, err := s.selected()
	if err != nil {
		return err
	}
	head, err := json.Marshal(is)
	if err != nil {
		return err
	}
	rest, ours := bytes.CutPrefix(text, append(head, '\n'))
	if !ours {
		return dataError{errorf("%s is not of this selection: its files, its method or this program were others; remove it to start from the beginning", s.checkpoint)}
	}
	s.earlier.read(rest)
	s.earlier.bytes += int64(len(text) - len(rest))
	s.plan.Resume(s.earlier.choices)
	s.progress.say("going on after %s", words.Count(len(s.earlier.choices), "row", "rows"))
	return nil
}

// read reads whole lines, up to one that was cut off.
func (e *earlier) read(text []byte) {
	for line := range bytes.Lines(text) {
		var c selection.Choice
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &c) != nil {
			return
		}
		e.choices = append(e.choices, c)
		e.bytes += int64(len(line))
	}
}

// keep writes each new choice to the checkpoint.
func (s *selecting) keep() (done func(complete bool), err error) {
	if s.checkpoint == "" || s.ranks != nil && s.ranks.Rank() > 0 {
		return func(bool) {}, nil
	}
	file, err := s.openCheckpoint()
	if err != nil {
		return nil, dataError{errorf("--checkpoint: %w", err)}
	}
	write, known, failed := json.NewEncoder(file), len(s.earlier.choices), false
	s.plan.Picked(func(c selection.Choice) {
		if known--; known >= 0 || failed {
			return
		}
		if err := write.Encode(c); err != nil {
			failed = true
			s.progress.warn(fmt.Sprintf("the checkpoint %s is not complete: %v", s.checkpoint, err))
		}
	})
	return func(complete bool) {
		file.Close()
		if complete {
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
	_, err = file.Seek(s.earlier.bytes, io.SeekStart)
	err = errors.Join(err, file.Truncate(s.earlier.bytes))
	if is, wrong := s.selected(); s.earlier.bytes == 0 {
		err = errors.Join(err, wrong, json.NewEncoder(file).Encode(is))
	}
	if err != nil {
		file.Close()
	}
	return file, err
}
