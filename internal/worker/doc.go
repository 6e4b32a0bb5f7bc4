// Package worker lets another process use nextbatch without starting it for every
// call: requests arrive in frames on one stream, answers are sent in frames on another.
// The Python package uses it. docs/worker.md describes the protocol.
//
// A frame is a length in four bytes, little-endian; a JSON object of that length, the
// header; and the elements of the arrays that the header lists, as they lie in memory.
// So a matrix of a gigabyte takes a gigabyte, and nothing has to be parsed.
package worker

// protocol is the version of the protocol. It changes whenever a client of the
// previous version would misunderstand the worker.
const protocol = 4
