package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"runtime/debug"

	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
)

// Every ask on the command line is a process of its own. The features of the rows wait for the
// next one in a file beside the campaign, which is a cache: it is read if it has the features of
// the network and of this very program, and written when the batch is out.

// keptEnding follows the name of the store's file and, with --campaign, that of the campaign.
const keptEnding = ".features"

// keeps returns what keeps the features from one ask to the next. It is nil for campaigns in a
// database, for a device, which computes all features, and for a program that cannot be told from
// others.
func (a *campaignAsking) keeps(ctx context.Context, address string) *kept.Features {
	path, program := storeFile(address), programText()
	if path == "" || program == "" || network.DeviceOf(ctx) != nil {
		return nil
	}
	if a.name != "" { // the store may hold several
		path += "." + url.PathEscape(a.name)
	}
	k := &kept.Features{Limit: kept.UsualLimit, File: path + keptEnding, Program: program}
	if left := a.memory.left(); left > 0 {
		k.Limit = min(k.Limit, left)
	}
	return k
}

// sayKept reports how many features of earlier asks were reused.
func (a *campaignAsking) sayKept() {
	if a.kept == nil {
		return
	}
	if found, computed := a.kept.Counts(); found > 0 {
		a.progress.say("the features of %s were kept from an earlier ask, those of %d were computed",
			words.Count(int(found), "row", "rows"), computed)
	}
}

// keep writes the features for the next ask, if some of them are new. The batch has been handed
// out, and without the file the next ask computes the features again, so a failure is a note.
func (a *campaignAsking) keep(ctx context.Context, address string) {
	if a.kept == nil || !a.kept.Fresh() {
		return
	}
	if err := a.writeKept(ctx, address); err != nil && ctx.Err() == nil {
		a.progress.say("the features are not kept for the next ask: %v", err)
	}
}

// writeKept writes the features into a file that nobody may read who may not read the campaign.
func (a *campaignAsking) writeKept(ctx context.Context, address string) error {
	if err := a.kept.CheckFile(); err != nil {
		return err
	}
	store, err := os.Stat(storeFile(address))
	if err != nil {
		return err
	}
	if err := os.Chmod(a.kept.File, store.Mode().Perm()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.WriteAs(a.kept.File, store.Mode().Perm(), func(w io.Writer) error { return a.kept.Write(ctx, w) })
}

// programText identifies this program by all that the bits of its results may depend on: the
// version, the instruction set, the settings of the build and, since builds of files that were
// not committed share all that, the length and the time of its file. It is empty if that file
// is not found.
func programText() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Stat(path)
	if err != nil {
		return ""
	}
	info, _ := debug.ReadBuildInfo() // prints nil if there is none
	sum := sha256.Sum256(fmt.Append(nil, info, file.Size(), file.ModTime().UnixNano()))
	return fmt.Sprintf("%v %x", thisBuild(), sum)
}
