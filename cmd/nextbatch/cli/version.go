package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/simd"
)

// build describes the origin of a program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"` // built from uncommitted files
	Go       string `json:"go"`
	Platform string `json:"platform"`
	SIMD     string `json:"simd"` // instruction set in use
}

// release is the version of a package that carries this program, such as a wheel. The
// linker sets it.
var release string

// versionOf returns the version of a program whose main module has a version according to Go: that of
// the tag that it was built from, or one that ends in "-" and the commit. Builds that are not of
// the tag of nextbatch.Version are told apart by the commit, as in 0.1.0-dev+0123456789ab.
func versionOf(module string) string {
	if module == "" || module == "(devel)" {
		return nextbatch.Version
	}
	if changes, ok := strings.CutPrefix(module, "v"+nextbatch.Version); ok && (changes == "" || changes == "+dirty") {
		return nextbatch.Version + changes
	}
	commit := module[strings.LastIndex(module, "-")+1:]
	return nextbatch.Version + "+" + strings.ReplaceAll(commit, "+", ".")
}

func thisBuild() build {
	b := build{Version: cmp.Or(release, nextbatch.Version), Go: runtime.Version(), Platform: runtime.GOOS + "/" +
		runtime.GOARCH, SIMD: simd.Name()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(release, versionOf(info.Main.Version))
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the line that --version prints.
func (b build) String() string {
	return fmt.Sprintf("nextbatch %s (%s, %s, %s)", b.Version, b.Go, b.Platform, b.SIMD)
}

func newVersion() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  nextbatch version --json",
		Args:    cobra.NoArgs,
		RunE: performs(func(context.Context, []string) (*answer, error) {
			b := thisBuild()
			return printed(asJSON, b, line(b)), nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
