// Package onnx runs networks that were trained elsewhere: feed-forward graphs from
// ONNX files, as PyTorch, Keras and skl2onnx write them, and from safetensors files
// with a short description. Load reads a file, checks the whole graph and infers its
// shapes before anything runs; an operator that the package cannot run is an error
// that names the operator and the node.
//
// A Network predicts, and its Taps hand layer inputs and gradients to the kernels ll
// and grad. It is read-only, so several goroutines may use it at once; a Taps belongs
// to one goroutine at a time.
//
// The first dimension of every tensor is the row of the table, whatever size the file
// gives for it. Rows are computed independently, in float32, and the result of a row
// has the same bits in every block.
package onnx
