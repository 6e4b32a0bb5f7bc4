package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch"
)

// image makes the container image for all architectures of Linux by deploy/Containerfile. Buildah needs no daemon; the
// programs that are there already take the place of the stage that would compile them.
func (r *release) image() error {
	storage := filepath.Join(r.work, "storage")
	buildah := func(args ...string) error {
		return call("buildah", append([]string{"--storage-driver=vfs", "--root=" + storage, "--runroot=" +
			storage + ".run"}, args...)...)
	}
	name := ""
	for _, platform := range r.platforms {
		architecture, linux := strings.CutPrefix(platform, "linux/")
		if !linux {
			continue
		}
		name = "nextbatch:" + nextbatch.Version
		stage := filepath.Join(r.work, "stage-"+architecture)
		if err := r.stage(stage, architecture); err != nil {
			return err
		}
		if err := buildah("build", "--quiet", "--file=deploy/Containerfile", "--platform="+platform, "--manifest="+name,
			"--build-context=build="+stage, "--identity-label=false", "--timestamp="+strconv.FormatInt(r.time.Unix(), 10),
			"--label=org.opencontainers.image.version="+nextbatch.Version, "deploy"); err != nil {
			return err
		}
	}
	if name == "" {
		return nil
	}
	if err := buildah("manifest", "push", "--quiet", "--all", name, "oci:"+filepath.Join(r.work, "image")+":"+
		nextbatch.Version); err != nil {
		return err
	}
	entries, err := filesOf(filepath.Join(r.work, "image"), ".")
	if err != nil {
		return err
	}
	return create(filepath.Join(r.folder, named("image")+".tar"),
		func(w io.Writer) error { return packTar(w, "", entries, r.time) })
}

// stage lays out what the image is copied from.
func (r *release) stage(folder, architecture string) error {
	for _, name := range []string{"data", "scratch", "licences"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o755); err != nil { // whatever the umask
			return err
		}
	}
	for _, e := range []entry{
		{"nextbatch", filepath.Join(r.work, "nextbatch-linux-"+architecture), 0o755},
		{"licences/LICENSE", "LICENSE", 0o644}, {"licences/" + filepath.Base(r.notices), r.notices, 0o644},
	} {
		path := filepath.Join(folder, filepath.FromSlash(e.name))
		if err := create(path, e.copyTo); err != nil {
			return err
		}
		if err := os.Chmod(path, e.mode); err != nil {
			return err
		}
	}
	return nil
}
