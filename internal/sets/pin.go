package sets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/ctxio"
)

// The SHA-256 of a raw file is pinned when it is first seen: it is written next
// to the raw file, under the same name with .sha256 appended, as sha256sum
// does. From then on the raw file must have this hash, which `sha256sum -c` can
// check, too.
const pinSuffix = ".sha256"

// hashFile returns the SHA-256 of a file, in hexadecimal.
func hashFile(ctx context.Context, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, ctxio.Reader(ctx, file)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readPin returns the pinned hash of the file, "" if there is none.
func readPin(path string) (string, error) {
	text, err := os.ReadFile(path + pinSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	hash, name, ok := strings.Cut(strings.TrimRight(string(text), "\r\n"), "  ")
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size || !ok || name != filepath.Base(path) {
		return "", &source.Error{File: path + pinSuffix, Kind: source.ErrFormat,
			Detail: "it does not contain the hash of " + filepath.Base(path),
			Advice: "remove it to pin the file as it is now"}
	}
	return strings.ToLower(hash), nil
}

// checkPin compares a file with its pin and returns the file's hash, or "" if
// there is no pin.
func checkPin(ctx context.Context, path string) (string, error) {
	pinned, err := readPin(path)
	if err != nil || pinned == "" {
		return "", err
	}
	hash, err := hashFile(ctx, path)
	if err != nil {
		return "", err
	}
	if hash != pinned {
		return hash, changed(path, hash, pinned, filepath.Base(path)+pinSuffix,
			"restore the file, or remove "+path+pinSuffix+" to accept it as it is")
	}
	return hash, nil
}

// pinned makes sure that the file has the pinned hash, or pins the hash that it
// has. It returns the hash.
func pinned(ctx context.Context, path string) (string, error) {
	hash, err := checkPin(ctx, path)
	if err != nil || hash != "" {
		return hash, err
	}
	if hash, err = hashFile(ctx, path); err != nil {
		return "", err
	}
	return hash, pin(path, hash)
}

func pin(path, hash string) error {
	return atomicfile.Write(path+pinSuffix, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %s\n", hash, filepath.Base(path))
		return err
	})
}

// changed reports that a file has changed.
func changed(path, hash, want, record, advice string) error {
	return &source.Error{File: path, Kind: ErrChanged, Detail: fmt.Sprintf("its SHA-256 is %s, but %s has %s", hash,
		record, want), Advice: advice}
}
