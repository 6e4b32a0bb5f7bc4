package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
)

// table writes a smooth function of two numbers and a colour, in the format that
// the name says.
func table(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 3)
	rows, every := count(ts, args[1]), count(ts, args[2])
	id, colour, site := dataset.NewText("id"), dataset.NewText("colour"), dataset.NewText("site")
	a, b, hours, y := dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewNumeric("hours"),
		dataset.NewNumeric("y")
	for i := range rows {
		u, v := math.Sin(float64(i)), math.Cos(float64(3*i))
		id.Append(fmt.Appendf(nil, "r%03d", i))
		a.Append(u)
		b.Append(v)
		colour.Append([]byte([]string{"red", "green", "blue"}[i%7%3]))
		site.Append(fmt.Appendf(nil, "s%d", i%5))
		hours.Append(float64(1 + i%4))
		label := math.NaN()
		if i%every == 0 {
			label = u*u + v
		}
		y.Append(label)
	}
	t, err := dataset.NewTable(id, a, b, colour, site, hours, y)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	if filepath.Ext(path) == ".arff" {
		ts.Check(os.WriteFile(path, arff(t), 0o644))
		return
	}
	ts.Check(source.WriteFile(path, t))
}

// shifted writes y = 3a + 0.1b with a moved away from zero. All values of a are multiples of 1/64,
// so that float64 holds them exactly, however far they are moved, and float32 does not.
func shifted(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 3)
	offset, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	text := []byte("id,a,b,y\n")
	for i := range count(ts, args[1]) {
		a, b := float64(i*37%128-64)/64, math.Cos(float64(3*i))
		text = fmt.Appendf(text, "r%03d,%f,%.6f,", i, a+offset, b)
		if i%3 == 0 {
			text = fmt.Appendf(text, "%.6f", 3*a+0.1*b)
		}
		text = append(text, '\n')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

func count(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func arff(t *dataset.Table) []byte {
	var b bytes.Buffer
	b.WriteString("% made by a test\n@relation 'a table'\n")
	for _, c := range t.Columns() {
		kind := "string"
		if c.Kind() == dataset.KindNumeric {
			kind = "numeric"
		}
		fmt.Fprintf(&b, "@attribute '%s' %s\n", c.Name(), kind)
	}
	b.WriteString("@data\n")
	for row := range t.Rows() {
		var cells []string
		for _, c := range t.Columns() {
			if c.Missing(row) {
				cells = append(cells, "?")
			} else {
				cells = append(cells, c.Format(row))
			}
		}
		fmt.Fprintln(&b, strings.Join(cells, ","))
	}
	return b.Bytes()
}

// numbers writes a matrix, the same in every format, or those of its rows that follow the first few.
func numbers(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 3)
	m := matrix.New[float64](count(ts, args[1]), count(ts, args[2]))
	first := 0
	if len(args) > 3 {
		first = count(ts, args[3]) * m.Cols
	}
	for i := range m.Data {
		at := first + i
		m.Data[i] = math.Sin(float64(at * at))
	}
	var raw bytes.Buffer
	switch filepath.Ext(args[0]) {
	case ".npy":
		ts.Check(source.WriteNPY(&raw, m))
	case ".npz":
		archive := zip.NewWriter(&raw)
		w, err := archive.Create("a.npy")
		ts.Check(err)
		ts.Check(source.WriteNPY(w, m))
		ts.Check(archive.Close())
	case ".mat":
		writeMAT(&raw, m)
	case ".parquet":
		ts.Check(source.WriteParquet(&raw, tableOf(ts, m)))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw.Bytes(), 0o644))
}

// tableOf returns the columns of a matrix as those of a table.
func tableOf(ts *testscript.TestScript, m matrix.Dense[float64]) *dataset.Table {
	columns := make([]dataset.Column, m.Cols)
	for j := range columns {
		values := make([]float64, m.Rows)
		for i := range values {
			values[i] = m.At(i, j)
		}
		columns[j] = dataset.NewNumeric(fmt.Sprintf("f%03d", j), values...)
	}
	t, err := dataset.NewTable(columns...)
	ts.Check(err)
	return t
}

// writeMAT writes a MATLAB file of version 5 with the variable a.
func writeMAT(to *bytes.Buffer, m matrix.Dense[float64]) {
	put := func(b *bytes.Buffer, values ...any) {
		for _, v := range values {
			_ = binary.Write(b, binary.LittleEndian, v)
		}
	}
	var body bytes.Buffer
	put(&body, uint32(6), uint32(8), uint32(6), uint32(0))         // flags: an array of doubles
	put(&body, uint32(5), uint32(8), int32(m.Rows), int32(m.Cols)) // dimensions
	put(&body, uint32(1), uint32(1), [8]byte{'a'})                 // name
	put(&body, uint32(9), uint32(8*m.Rows*m.Cols))                 // numbers, column by column
	for j := range m.Cols {
		for i := range m.Rows {
			put(&body, m.At(i, j))
		}
	}
	header := make([]byte, 124)
	copy(header, "MATLAB 5.0 MAT-file")
	put(to, header, uint16(0x0100), [2]byte{'I', 'M'}, uint32(14), uint32(body.Len()))
	to.Write(body.Bytes())
}

// blanked writes a real data set as its file has it, line by line, but for the
// labels, of which 256 remain.
func blanked(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 3)
	compressed, err := os.Open(filepath.Join(ts.Getenv("DATA"), args[1]))
	ts.Check(err)
	defer compressed.Close()
	text, err := gzip.NewReader(compressed)
	ts.Check(err)
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := bufio.NewWriter(out)
	none, label, row := "", count(ts, args[2]), -1 // a header comes first
	if strings.Contains(args[0], ".arff") {
		none, row = "?", 0
	}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		cells := strings.Split(lines.Text(), ",")
		if len(cells) > label {
			if row >= 0 && (row%100 != 0 || row >= 25600) {
				cells[label] = none
			}
			row++
		}
		fmt.Fprintln(w, strings.Join(cells, ","))
	}
	ts.Check(w.Flush())
	ts.Check(out.Close())
}
