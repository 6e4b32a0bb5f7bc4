package kept

// Kept features in a file, for selections of other processes. The file is a cache: if it is lost,
// damaged or of another network, features are computed again, and the batch is the same. It
// holds
//
//	the format, the architecture, the program, the key and the sizes of a row, as text
//	the number of rows, and the checksum of all that
//	the rows, in blocks of partRows, each followed by its checksum
//
// Numbers of rows are written as they are in memory. A reader knows the text that it expects and
// takes nothing from the file but the number of rows, which must agree with its length.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// magic is how every such file starts; the version of the format follows.
const magic = "nextbatch features "

var (
	errNotFeatures = errors.New("it is not a file of features, and stays as it is")
	errUseless     = errors.New("it is damaged, or holds features of another network or program")
	errInUse       = errors.New("a selection is using the features")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is the text that the file starts with.
func (k *Features) head() []byte {
	return fmt.Appendf(nil, "%s1\n%s %q %q %d %d\n", magic, runtime.GOARCH, k.Program, k.key, k.inputs, k.width)
}

// Fresh reports whether a selection has computed features that neither File nor the last Write
// has. It does not if Limit excluded some of them: a part of them is not worth a file.
func (k *Features) Fresh() bool {
	if !k.inUse.TryLock() {
		return false
	}
	defer k.inUse.Unlock()
	return k.fresh > 0 && !k.full
}

// Write writes what is kept to the File of another process. It fails while a selection uses
// it, and when the context ends.
func (k *Features) Write(ctx context.Context, w io.Writer) error {
	if !k.inUse.TryLock() {
		return errInUse
	}
	defer k.inUse.Unlock()
	if err := writeSealed(w, binary.LittleEndian.AppendUint64(k.head(), uint64(k.rows))); err != nil {
		return err
	}
	for i, part := range k.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := min(partRows, k.rows-i*partRows)
		if err := writeSealed(w, bits(part.Data[:rows*k.width])); err != nil {
			return err
		}
	}
	k.fresh = 0
	return nil
}

// CheckFile reports that File exists and is anything but what Write has written, so that it
// should not be replaced. What was damaged after its first bytes may be.
func (k *Features) CheckFile() error {
	file, _, err := k.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	start, err := io.ReadAll(io.LimitReader(file, int64(len(magic))))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix([]byte(magic), start) {
		return &fs.PathError{Op: "write", Path: k.File, Err: errNotFeatures}
	}
	return nil
}

// open opens File and returns its length. Pipes, which might never answer, are rejected.
func (k *Features) open() (*os.File, int64, error) {
	info, err := os.Stat(k.File)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "open", Path: k.File, Err: errNotFeatures}
	}
	file, err := os.Open(k.File)
	if err != nil {
		return nil, 0, err
	}
	if info, err = file.Stat(); err != nil { // by now it may be another one
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// rowsInFile returns how many rows of a width File can have: none if its rows have another one.
func (k *Features) rowsInFile(width int) int {
	file, length, err := k.open()
	if err != nil || width == 0 {
		return 0
	}
	defer file.Close()
	if r := bufio.NewReader(io.LimitReader(file, longestHead)); !headHas(r, width) {
		return 0
	}
	return int(length / (int64(width) * numberBytes))
}

// longestHead is more than the text at the start of a file takes.
const longestHead = 1 << 16

// headHas reports whether the second line of a file ends with a width.
func headHas(r *bufio.Reader, width int) bool {
	_, _ = r.ReadString('\n')
	line, err := r.ReadString('\n')
	return err == nil && strings.HasSuffix(line, fmt.Sprintf(" %d\n", width))
}

// load reads File.
func (k *Features) load() error {
	if k.File == "" {
		return nil
	}
	file, length, err := k.open()
	if err != nil {
		return err
	}
	defer file.Close()
	return k.read(file, length)
}

// read reads what Write has written, as far as the limit allows. After an error, part of the
// rows may have been read.
func (k *Features) read(r io.Reader, length int64) error {
	text := k.head()
	head := make([]byte, len(text)+8)
	if err := readSealed(r, head); err != nil {
		return err
	}
	rows := binary.LittleEndian.Uint64(head[len(text):])
	if !bytes.HasPrefix(head, text) || rows > uint64(length) || length != k.fileBytes(int64(rows)) {
		return errUseless
	}
	for left := int(rows); left > 0 && k.grow(); left -= partRows {
		if err := k.readPart(r, min(left, partRows)); err != nil {
			return err
		}
	}
	return nil
}

// fileBytes is the length of a file with this number of rows.
func (k *Features) fileBytes(rows int64) int64 {
	blocks := 1 + (rows+partRows-1)/partRows
	return int64(len(k.head())+8) + rows*int64(k.width)*numberBytes + blocks*crc32.Size
}

// readPart reads a block of rows into the last part.
func (k *Features) readPart(r io.Reader, rows int) error {
	part := k.parts[len(k.parts)-1]
	if err := readSealed(r, bits(part.Data[:rows*k.width])); err != nil {
		return err
	}
	for i := range rows {
		k.index[maphash.Bytes(k.seed, bits(part.Row(i)[:k.inputs]))] = int32(k.rows)
		k.rows++
	}
	return nil
}

// writeSealed writes bytes and their checksum.
func writeSealed(w io.Writer, raw []byte) error {
	if _, err := w.Write(raw); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(raw, castagnoli)))
	return err
}

// readSealed fills raw with bytes that their checksum follows.
func readSealed(r io.Reader, raw []byte) error {
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	var sum [crc32.Size]byte
	if _, err := io.ReadFull(r, sum[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(sum[:]) != crc32.Checksum(raw, castagnoli) {
		return errUseless
	}
	return nil
}
