// Package source reads tables from files and writes them.
//
// ReadFile chooses the reader by the file's extension:
//
//	.csv, .data, .dat, .txt   comma-separated text
//	.tsv, .tab                tab-separated text
//	.xlsx, .xlsm              Excel
//	.jsonl, .ndjson           JSON lines
//	.parquet, or a folder     Parquet
//	.arff                     Weka's attribute-relation file format
//	.npy, .npz                NumPy
//	.mat                      MATLAB, version 5
//
// Read does the same for a source without a name. A gzip-compressed file is recognised by its content, and its name may
// end in .gz. ReadMatrix reads the numbers of a NumPy or MATLAB file as they are, for features computed elsewhere.
//
// WriteFile chooses the writer the same way: .csv, .tsv, .tab, .xlsx, .jsonl, .ndjson, .parquet, .npy, and .gz after
// any of them. A file appears under its name only when it is complete.
//
// Every fault of a file is an *Error that reports where it is (file, line or row, column), what it is, and what to do
// about it. No input makes a reader panic, and readers allocate memory for what is in a file, not for what its header
// promises.
package source
