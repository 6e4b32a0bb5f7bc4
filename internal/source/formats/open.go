package formats

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// open returns the contents of a file. Those of an uncompressed regular file
// have a known size and allow random access.
func open(file *os.File) (io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var start [len(gzipMagic)]byte
	if info.Mode().IsRegular() {
		if n, _ := file.ReadAt(start[:], 0); string(start[:n]) != gzipMagic {
			return io.NewSectionReader(file, 0, info.Size()), nil
		}
	}
	return decompress(file)
}

const gzipMagic = "\x1f\x8b"

// decompress goes by the content, because names are often wrong.
func decompress(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(file, bufferSize)
	if start, _ := buffered.Peek(len(gzipMagic)); string(start) != gzipMagic {
		return buffered, nil // the reader will report what Peek could not read
	}
	text, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, &sheets.Error{Kind: sheets.ErrRead, Cause: err, Advice: "check that the file is complete"}
	}
	return text, nil
}

func trimGzip(path string) string {
	if strings.EqualFold(filepath.Ext(path), ".gz") {
		return path[:len(path)-len(".gz")]
	}
	return path
}

// inFile names the file in an error of this package.
func inFile(path string, err error) error {
	if at := (*sheets.Error)(nil); errors.As(err, &at) {
		at.File = path
	}
	return err
}

func extensionOf(path string) string { return strings.ToLower(filepath.Ext(trimGzip(path))) }
