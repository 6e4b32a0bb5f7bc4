package main

import "github.com/mmcloughlin/avo/build"

// vector generates the vector primitives.
func vector(c *build.Context, s isa) {}
