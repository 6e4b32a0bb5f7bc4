package sets

import (
	"context"
	"errors"
	"io/fs"
)

// State describes which files of a data set a folder has.
type State struct {
	Raw      string // path of the raw file; empty if there is none
	RawSize  int64
	Pinned   string    // the SHA-256 that the raw file must have; empty if not yet pinned
	Prepared *Prepared // nil if the set has not been prepared
}

// State inspects the folder, without reading the files.
func (s Set) State(dir string) (State, error) {
	raw, err := s.find(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	st := State{Raw: raw}
	if raw != "" {
		st.RawSize = fileSize(raw)
		if st.Pinned, err = readPin(raw); err != nil {
			return st, err
		}
	}
	p, err := s.openPrepared(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	defer p.close()
	prepared, err := p.describe()
	if err != nil {
		return st, err
	}
	st.Prepared = &prepared
	return st, nil
}

// Verify reads the raw file in the folder, if it is there, and returns its
// hash. It must be the pinned hash and that of the prepared file (ErrChanged).
func (s Set) Verify(ctx context.Context, dir string) (hash string, err error) {
	raw, err := s.find(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if hash, err = checkPin(ctx, raw); err != nil {
		return hash, err
	}
	if hash == "" {
		if hash, err = hashFile(ctx, raw); err != nil {
			return "", err
		}
	}
	p, err := s.openPrepared(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return hash, nil
	}
	if err != nil {
		return hash, err
	}
	defer p.close()
	return hash, p.fits(raw, hash)
}
