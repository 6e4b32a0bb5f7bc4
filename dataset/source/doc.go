// Package source reads tables from files and writes them.
//
// ReadFile chooses the reader by the file's extension: CSV (.csv, .data, .txt),
// tab-separated text (.tsv, .tab), Parquet (.parquet), ARFF (.arff) and NumPy
// (.npy). ReadMatrix reads the numbers of an array as they are. A file that is compressed
// with gzip is recognised by its content, and its name may end in .gz.
//
// Everything that is wrong with a file is an *Error that says where (file, line,
// column), what, and what to do about it. No input makes a reader panic.
//
// LoadSet reads a data set of the paper's benchmark and prepares it as the paper
// does.
package source
