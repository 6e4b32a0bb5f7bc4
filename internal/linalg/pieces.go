package linalg

// rowsJob is work on rows that has been cut into pieces of fixed size.
type rowsJob struct {
	n, size int
	work    func(piece, from, to int)
}

func (j *rowsJob) Do(piece, _ int) {
	from := piece * j.size
	j.work(piece, from, min(from+j.size, j.n))
}

// OverPieces calls work for pieces of size of n rows, from several threads. The pieces
// do not depend on the number of threads.
func (t *Team) OverPieces(n, size int, work func(piece, from, to int)) {
	t.Run(Pieces(n, size), &rowsJob{n, size, work})
}

// Pieces is the number of pieces of size that n rows have.
func Pieces(n, size int) int { return (n + size - 1) / size }
