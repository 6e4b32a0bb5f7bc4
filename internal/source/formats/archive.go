package formats

import (
	"archive/zip"
	"fmt"
	"math"
)

// mostDirectory bounds the bytes of an archive that list its entries. The library keeps a few
// times as much, and the archives that are read have a handful of entries.
const mostDirectory = 16 << 20

// openArchive opens a zip archive.
func openArchive(content sized) (*zip.Reader, error) {
	directory := &meteredAt{sized: content, left: mostDirectory}
	archive, err := zip.NewReader(directory, content.Size())
	if err != nil {
		return nil, damaged(err)
	}
	directory.left = math.MaxInt64 // the entries themselves are streams
	return archive, nil
}

// meteredAt reads at most the given number of bytes.
type meteredAt struct {
	sized
	left int64
}

func (m *meteredAt) ReadAt(to []byte, at int64) (int, error) {
	if m.left -= int64(len(to)); m.left < 0 {
		return 0, fmt.Errorf("its list of entries has more than %d MiB", mostDirectory>>20)
	}
	return m.sized.ReadAt(to, at)
}
