package formats

import (
	"bytes"
	"fmt"
	"strings"
)

// formatName names the formats that can be recognised by their first bytes.
var formatName = map[string]string{
	".parquet": "a Parquet file", ".xlsx": "an Excel workbook", ".npy": "a NumPy array", ".npz": "a NumPy archive",
	".mat": "a MATLAB file", ".arff": "an ARFF file", ".jsonl": "JSON lines",
}

// hints lists what to do with files that others write and that nextbatch does not read.
var hints = map[string]string{
	".xls":  "open it in Excel or LibreOffice, and save it as .xlsx or .csv",
	".xlsb": "open it in Excel, and save it as .xlsx or .csv",
	".ods":  "open it in LibreOffice, and save it as .xlsx or .csv", ".numbers": "export it from Numbers as .xlsx or .csv",
	".json": `write one object per line and name the file .jsonl; in pandas, df.to_json("t.jsonl", ` +
		`orient="records", lines=True)`,
	".feather": pandasHint("read_feather"), ".arrow": pandasHint("read_feather"), ".orc": pandasHint("read_orc"),
	".pkl": pandasHint("read_pickle"), ".pickle": pandasHint("read_pickle"),
	".h5": pandasHint("read_hdf"), ".hdf": pandasHint("read_hdf"), ".hdf5": pandasHint("read_hdf"),
	".dta":      "in Stata, write it with: export delimited t.csv; or " + pandasHint("read_stata"),
	".sav":      "in SPSS, save it as .csv; or " + pandasHint("read_spss"),
	".sas7bdat": "in SAS, write it with PROC EXPORT as .csv; or " + pandasHint("read_sas"), ".xpt": pandasHint("read_sas"),
	".rds": rHint, ".rdata": rHint, ".rda": rHint,
	".db": sqlHint, ".sqlite": sqlHint, ".sqlite3": sqlHint,
	".zip": "unpack it, and give the file inside", ".7z": "unpack it, and give the file inside",
	".tar": "unpack it, and give the file inside",
	".bz2": packHint, ".xz": packHint, ".zst": packHint, ".lz4": packHint,
}

func pandasHint(read string) string {
	return fmt.Sprintf(`in Python, write it with pandas.%s("t").to_parquet("t.parquet")`, read)
}

const (
	rHint    = `in R, write it with write.csv(x, "t.csv", row.names = FALSE)`
	sqlHint  = `write the table with sqlite3 -header -csv FILE "select * from TABLE" > t.csv`
	packHint = "decompress it, or compress it with gzip"
)

const oleMagic = "\xd0\xcf\x11\xe0"

// sniff returns the extension that fits the first bytes of a file, or "" where they may be any text.
func sniff(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("PAR1")):
		return ".parquet"
	case bytes.HasPrefix(start, []byte("\x93NUMPY")):
		return ".npy"
	case bytes.HasPrefix(start, []byte("MATLAB 5.0")):
		return ".mat"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		if name := firstEntry(start); strings.HasSuffix(name, ".npy") {
			return ".npz"
		}
		return ".xlsx"
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return ".jsonl"
	case len(text) >= 9 && bytes.EqualFold(text[:9], []byte("@relation")), bytes.HasPrefix(text, []byte("%")):
		return ".arff"
	}
	return ""
}

// firstEntry returns the name in the header at the start of a zip archive.
func firstEntry(start []byte) string {
	const header, length = 30, 26
	if len(start) < header {
		return ""
	}
	n := int(start[length]) | int(start[length+1])<<8
	return string(start[header:min(header+n, len(start))])
}
