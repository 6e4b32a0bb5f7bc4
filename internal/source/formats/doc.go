// Package formats reads and writes tables and matrices as files: a file or a family of files for each format.
package formats
