package matrix

import "testing"

func TestWholePages(t *testing.T) {
	const page = uintptr(hugePage)
	tests := []struct{ start, size, skip, length uintptr }{
		{0, 0, 0, 0},
		{4 * page, page - 1, 0, 0},
		{4 * page, page, 0, page},
		{4 * page, 3*page + 5, 0, 3 * page},
		{4*page + 8, page, page - 8, 0},
		{4*page + 8, 2*page - 9, page - 8, 0},
		{4*page + 8, 2*page - 8, page - 8, page},
		{5*page - 8, 7, 0, 0},
		{5*page - 8, 8, 0, 0},
		{5*page - 8, 2*page + 9, 8, 2 * page},
	}
	for _, test := range tests {
		skip, length := wholePages(test.start, test.size)
		if skip != test.skip || length != test.length {
			t.Errorf("%#x + %#x: skip %#x, length %#x, want %#x and %#x",
				test.start, test.size, skip, length, test.skip, test.length)
		}
	}
}
