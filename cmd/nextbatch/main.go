// Command nextbatch tells which rows of a table to label next.
package main

import (
	"os"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr)) }
