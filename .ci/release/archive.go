package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name, path string
	mode       fs.FileMode
}

// archives packs each program with what belongs to it.
func (r *release) archives() error {
	for _, platform := range r.platforms {
		system, architecture, _ := strings.Cut(platform, "/")
		for _, program := range programs(system) {
			suffix := map[bool]string{true: ".exe"}[system == "windows"]
			entries := []entry{{program + suffix, filepath.Join(r.work, program+"-"+system+"-"+architecture+suffix), 0o755}}
			for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
				entries = append(entries, entry{name, name, 0o644})
			}
			entries = append(entries, entry{filepath.Base(r.notices), r.notices, 0o644})
			for _, folder := range []string{"completions", "man"} {
				if program != "nextbatch" || system == "windows" && folder == "man" {
					continue
				}
				more, err := filesOf(r.work, folder)
				if err != nil {
					return err
				}
				entries = append(entries, more...)
			}
			name := strings.Replace(named(system, architecture), "nextbatch", program, 1)
			if err := pack(filepath.Join(r.folder, name), system == "windows", name, entries, r.time); err != nil {
				return err
			}
		}
	}
	return nil
}

// programs lists the programs of a system: on Linux also the one that uses GPUs and MPI.
func programs(system string) []string {
	if system == "linux" {
		return []string{"nextbatch", "nextbatch-hpc"}
	}
	return []string{"nextbatch"}
}

// filesOf lists the files of a folder below another one, in the order of their names.
func filesOf(base, folder string) (entries []entry, err error) {
	err = fs.WalkDir(os.DirFS(base), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			entries = append(entries, entry{name, filepath.Join(base, filepath.FromSlash(name)), 0o644})
		}
		return err
	})
	return entries, err
}

// pack writes an archive, a zip file for Windows and a compressed tar file for others, in which all files are in a
// folder.
func pack(file string, windows bool, folder string, entries []entry, when time.Time) error {
	if windows {
		return create(file+".zip", func(w io.Writer) error { return packZip(w, folder, entries, when) })
	}
	return create(file+".tar.gz", func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(packTar(z, folder, entries, when), z.Close())
	})
}

func packZip(w io.Writer, folder string, entries []entry, when time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: path.Join(folder, e.name), Method: zip.Deflate, Modified: when}
		header.SetMode(e.mode)
		part, err := z.CreateHeader(header)
		if err == nil {
			err = e.copyTo(part)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func packTar(w io.Writer, folder string, entries []entry, when time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		info, err := os.Stat(e.path)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, e.name), Size: info.Size(),
			Mode: int64(e.mode), ModTime: when}
		if err := errors.Join(t.WriteHeader(header), e.copyTo(t)); err != nil {
			return err
		}
	}
	return t.Close()
}

func (e entry) copyTo(w io.Writer) error {
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
