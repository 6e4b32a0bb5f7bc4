package sets

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// layout is a small raw file in the layout of a real one, generated row by row.
type layout struct {
	set      string
	file     func(rows int) string
	features int // those of the paper, except for mlr_knn_rng and methane
	rows     int // complete ones, out of 40
	inputs   string
	label    float64 // of the first row, with its inputs
}

// lines writes one line per row number.
func lines(header string, rows int, line func(row int) string) string {
	var b strings.Builder
	b.WriteString(header)
	for row := range rows {
		b.WriteString(line(row) + "\n")
	}
	return b.String()
}

// numbers writes n numbers that differ in each row.
func numbers(n, row int) string {
	fields := make([]string, n)
	for j := range fields {
		fields[j] = fmt.Sprint(j + row)
	}
	return strings.Join(fields, ",")
}

var layouts = []layout{
	{set: "wec_sydney", features: 48, rows: 40, label: 48, inputs: "[0 1 2 3",
		file: func(n int) string { return lines("", n, func(row int) string { return numbers(49, row) }) }},
	{set: "ct_slices", features: 379, rows: 40, label: 99.5, inputs: "[5 6 7 8", // five columns of 384 are constant
		file: func(n int) string {
			header := "patientId"
			for j := range 384 {
				header += fmt.Sprintf(",value%d", j)
			}
			return lines(header+",reference\n", n, func(row int) string {
				return fmt.Sprintf("%d,0,0,0,0,-0.25,%s,%g", row/10, strings.Join(strings.Split(numbers(384, row), ",")[5:],
					","), 99.5+float64(row))
			})
		}},
	{set: "kegg_undir", features: 27, rows: 36, label: 26, inputs: "[1 2 3 4",
		file: func(n int) string {
			return lines("", n, func(row int) string {
				fields := strings.Split(numbers(29, row), ",")
				fields[0] = fmt.Sprintf("Glycolysis / Gluconeogenesis (%d)", row)
				if row%10 == 3 {
					fields[4] = "?"
				}
				return strings.Join(fields, ",")
			})
		}},
	{set: "online_video", features: 26, rows: 40, label: 0.5, inputs: "[130 176 144",
		file: func(n int) string {
			codecs := []string{"flv", "h264", "mpeg4", "vp8"}
			names := "id duration codec width height bitrate framerate i p b frames i_size p_size b_size size o_codec " +
				"o_bitrate o_framerate o_width o_height umem utime"
			return lines(strings.ReplaceAll(names, " ", "\t")+"\n", n, func(row int) string {
				fields := []string{fmt.Sprintf("04t6-jw9czg%d", row), "130.3", codecs[row%4], "176", "144"}
				for j := range 8 {
					fields = append(fields, fmt.Sprint(7*j+row))
				}
				fields = append(fields, "0", "825054", codecs[row/4%4]) // b_size is always 0
				for j := range 4 {
					fields = append(fields, fmt.Sprint(12*j+row))
				}
				fields[1], fields[3] = fmt.Sprint(130+row), fmt.Sprint(176+row)
				fields[4], fields[14] = fmt.Sprint(144+row), fmt.Sprint(825054+row)
				return strings.Join(append(fields, "22508", fmt.Sprint(0.5+float64(row))), "\t")
			})
		}},
	{set: "query", features: 4, rows: 40, label: 7, inputs: "[1.5 2 3 4]",
		file: func(n int) string { // no rows in range: no average
			return lines(",x,y,x_range,y_range,count,sum_,avg\n", n, func(row int) string {
				return fmt.Sprintf("%d,%g,%d,%d,%d,%d,NaN,", row, 1.5+float64(row), 2+row, 3+row, 4+row, 7+row)
			})
		}},
	{set: "road", features: 2, rows: 40, label: 17.05, inputs: "[9.349849 56.740875]",
		file: func(n int) string {
			return lines("", n, func(row int) string {
				return fmt.Sprintf("144552912,%.7f,%.7f,%.4f", 9.3498486+float64(row), 56.7408757+float64(row), 17.05+float64(row))
			})
		}},
	{set: "mlr_knn_rng", features: 2 + 3 + 1 + 2, rows: 38, label: 0.5, inputs: "[1 3 1 0 1 0 0 0]",
		file: func(n int) string { // declared levels that no row has
			return lines("@relation 'mlr knn rng'\n@attribute 'k' numeric\n@attribute data_id {3, 6, 11, 999}\n@attribute "+
				"perf.mmce real\n"+
				"@attribute perf.logloss real\n@attribute M integer\n@attribute distance {cosine, l2, ip}\n@attribute always "+
				"{yes, no}\n@data\n", n,
				func(row int) string {
					mmce := "0.25"
					m := fmt.Sprint(3 + row)
					if row == 1 {
						mmce = "?" // the column is not used
					}
					if row%20 == 7 {
						m = "?"
					}
					return fmt.Sprintf("%d,%d,%s,%g,%s,%s,yes", row+1, []int{3, 6, 11}[row%3], mmce, 0.5+float64(row), m,
						[]string{"l2", "cosine"}[row%2])
				})
		}},
	{set: "methane", features: 3, rows: 40, label: 0.5, inputs: "[10 3.5 1]",
		file: func(n int) string {
			return lines("% Methane\n@RELATION Methane\n@ATTRIBUTE AN311 REAL\n@ATTRIBUTE MM263 REAL\n@ATTRIBUTE MM264 REAL\n"+
				"@ATTRIBUTE MM256 REAL\n@ATTRIBUTE AN422 REAL\n@ATTRIBUTE hour REAL\n@DATA\n", n, func(row int) string {
				return fmt.Sprintf("%d,?,%g,0.2,%g,%d", 10+row, 0.5+float64(row%7), 3.5+float64(row), row%24+1)
			})
		}},
	{set: "stock", features: 9, rows: 40, label: 9, inputs: "[0 1 2 3 4 5 6 7 8]",
		file: func(n int) string {
			header := "@relation BNG(stock)\n"
			for j := range 10 {
				header += fmt.Sprintf("@attribute company%d numeric\n", j+1)
			}
			return lines(header+"@data\n", n, func(row int) string { return numbers(10, row) })
		}},
	{set: "sarcos", features: 21, rows: 40, label: 21, inputs: "[0 1 2 3",
		file: func(n int) string {
			values := make([]float64, 28*n)
			for k := range values {
				values[k] = float64(k/n + k%n) // in column order
			}
			return matFile("sarcos_inv", n, 28, values)
		}},
}

// matFile is a MATLAB file with one variable, in column order.
func matFile(name string, rows, cols int, values []float64) string {
	order := binary.LittleEndian
	element := func(kind uint32, data any) []byte {
		raw, err := binary.Append(nil, order, data)
		if err != nil {
			panic(err)
		}
		tag := order.AppendUint32(order.AppendUint32(nil, kind), uint32(len(raw)))
		return append(append(tag, raw...), make([]byte, -len(raw)&7)...)
	}
	const double = 6 // the class of the variable
	body := bytes.Join([][]byte{
		element(6, []uint32{double, 0}), element(5, []int32{int32(rows), int32(cols)}),
		element(1, []byte(name)), element(9, values),
	}, nil)
	return fmt.Sprintf("%-124s\x00\x01IM", "MATLAB 5.0 MAT-file") + string(element(14, body))
}

// archived puts the raw file into an archive, together with another file.
func archived(t testing.TB, member, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, entry := range [][2]string{{member, content}, {member + ".txt", "read me"}} {
		w, err := z.Create(entry[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entry[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// served returns what a server has for a set, by path. path is that of the file.
func served(t testing.TB, s Set, content string) (path string, files map[string][]byte) {
	t.Helper()
	if s.Source.OpenML > 0 {
		path = fmt.Sprintf("/data/v1/download/%d/x.arff", 2*s.Source.OpenML)
		about := fmt.Sprintf(
			`{"data_set_description":{"id":"%d","format":"ARFF","url":"https:\/\/api.openml.org%s","md5_checksum":"%x"}}`,
			s.Source.OpenML, path, md5.Sum([]byte(content)))
		return path, map[string][]byte{path: []byte(content), fmt.Sprintf("/api/v1/json/data/%d",
			s.Source.OpenML): []byte(about)}
	}
	path = "/" + strings.SplitN(s.Source.URL, "/", 4)[3]
	if s.Source.Member != "" {
		return path, map[string][]byte{path: archived(t, s.Source.Member, content)}
	}
	return path, map[string][]byte{path: []byte(content)}
}

// server serves the files, with an ETag.
func server(t testing.TB, files map[string][]byte) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.EscapedPath()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(content)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestLayouts fetches each set from a server, prepares it and loads it.
// Together with the sets of TestSetsOfThePaper, it covers all 15.
func TestLayouts(t *testing.T) {
	t.Parallel()
	tested := []string{"sgemm", "protein", "fried", "diamonds", "poker"}
	for _, l := range layouts {
		tested = append(tested, l.set)
		t.Run(l.set, func(t *testing.T) {
			s, err := Find(l.set)
			if err != nil {
				t.Fatal(err)
			}
			content := l.file(40)
			_, files := served(t, s, content)
			dir := t.TempDir()
			f := Fetcher{Mirror: server(t, files).URL}
			if _, err := f.Fetch(t.Context(), s, dir); err != nil {
				t.Fatal(err)
			}
			checkContent(t, dir, s.Files[0], content)
			direct, err := Load(t.Context(), l.set, dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Prepare(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if p.RawRows != 40 || p.Rows != l.rows || p.Already {
				t.Errorf("%+v", p)
			}
			r, err := Load(t.Context(), l.set, dir)
			if err != nil {
				t.Fatal(err)
			}
			golden.MustMatch(t, "prepared", r.X, direct.X, 0)
			if !slices.Equal(r.Y, direct.Y) || !slices.Equal(r.Rows, direct.Rows) {
				t.Errorf("labels %v, rows %v", r.Y, r.Rows)
			}
			if got := fmt.Sprint(r.X.Row(0)); r.X.Cols != l.features || !strings.HasPrefix(got, l.inputs) || r.Y[0] != l.label {
				t.Errorf("%d features %q, first row %v, label %v", r.X.Cols, r.Encoder.Features(), got, r.Y[0])
			}
		})
	}
	for _, s := range All() {
		if !slices.Contains(tested, s.Name) {
			t.Errorf("%s is not tested", s.Name)
		}
	}
}
