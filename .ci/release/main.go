// Release makes all files of a release in a folder, for the platforms that are named:
//
//	go run ./.ci/release FOLDER linux/amd64 darwin/arm64 ...
//
// There are an archive of each program with its manual pages and completions, the Python package, a container image,
// the documentation as a site, the list of what the programs are made of (SBOM), release notes and checksums. The same
// commit gives the same bytes anywhere: every file that is packed has the time of the commit, or that of
// SOURCE_DATE_EPOCH.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
)

// release is what all steps share.
type release struct {
	folder    string // where the files of the release go
	work      string // what they are made from
	platforms []string
	time      time.Time
	notices   string // licences of what the programs contain
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: release FOLDER PLATFORM...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string, platforms []string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err // a file of an earlier run must not become part of this one
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := release{folder: folder, work: work, platforms: platforms}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"time", r.clock}, {"programs", r.programs}, {"components", r.components}, {"manuals", r.manuals},
		{"archives", r.archives},
		{"package", r.packages}, {"image", r.image}, {"site", r.site}, {"notes", r.notes}, {"checksums", r.checksums},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%-10s %.1f s\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// clock decides on the time that all files get.
func (r *release) clock() error {
	text, given := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !given {
		var err error
		if text, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	r.time = time.Unix(seconds, 0).UTC()
	return err
}

func (r *release) programs() error {
	return call("make", "-s", "dist", "DIST="+r.work, "RELEASES="+strings.Join(r.platforms, " "))
}

// manuals lets the program of this machine write its manual pages and completions.
func (r *release) manuals() error {
	program := filepath.Join(r.work, "here")
	if err := call("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/nextbatch"); err != nil {
		return err
	}
	if err := call(program, "man", filepath.Join(r.work, "man", "man1")); err != nil {
		return err
	}
	folder := filepath.Join(r.work, "completions")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "nextbatch.bash", "zsh": "_nextbatch", "fish": "nextbatch.fish",
		"powershell": "nextbatch.ps1"} {
		text, err := output(program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packages makes the wheels and the source of the Python package.
func (r *release) packages() error {
	command := exec.Command("python3", append([]string{"-B", "python/backend.py", r.folder}, r.platforms...)...)
	command.Env = append(os.Environ(), "NEXTBATCH_NOTICES="+r.notices)
	command.Stderr = os.Stderr
	return command.Run()
}

// site packs the documentation as a site, which anybody can unpack and open.
func (r *release) site() error {
	if err := call("make", "-s", "site", "DIST="+r.work); err != nil {
		return err
	}
	files, err := filesOf(r.work, "site")
	if err != nil {
		return err
	}
	return create(filepath.Join(r.folder, named("site.zip")), func(w io.Writer) error {
		return packZip(w,
			named(), files, r.time)
	})
}

func (r *release) notes() error {
	text, err := output("make", "-s", "notes")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.folder, "NOTES.md"), []byte(text), 0o644)
}

// checksums lists all files of the release as sha256sum does.
func (r *release) checksums() error {
	files, err := os.ReadDir(r.folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(r.folder, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), file.Name())
	}
	return os.WriteFile(filepath.Join(r.folder, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// named returns the name of a file of the release.
func named(parts ...string) string {
	return strings.Join(append([]string{"nextbatch", nextbatch.Version}, parts...), "-")
}

func call(name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	return command.Run()
}

func output(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	return string(out), err
}
