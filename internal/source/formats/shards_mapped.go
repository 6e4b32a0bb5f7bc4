package formats

import (
	"context"
	"encoding/binary"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/matrix"
)

// mappable reports whether the numbers are stored as they lie in memory, in one file.
func mappable[T matrix.Float](s *Shards) bool {
	if len(s.files) != 1 || s.parquet != nil || binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return false
	}
	one, size := s.files[0], sizeOfNumber[T]()
	return one.array.element == element{kind: 'f', size: size} && one.offset%int64(size) == 0
}

// MapShards maps the numbers into memory, for arrays that exceed it: those of a file where they are stored as they
// lie in memory, and otherwise a copy in a temporary file in the folder.
func MapShards[T matrix.Float](ctx context.Context, s *Shards, folder string) (*rowfile.Mapping[T], error) {
	if mappable[T](s) {
		return rowfile.Open[T](s.files[0].path, s.files[0].offset, s.Rows, s.Cols)
	}
	file, err := rowfile.Create[T](folder, s.Rows, s.Cols)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := eachBlock(ctx, s, 0, s.Rows, file.Write); err != nil {
		return nil, err
	}
	return file.Map()
}
