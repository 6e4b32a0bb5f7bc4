// Command gen writes the assembly of package simd. It is a module of its own,
// so that users of nextbatch do not depend on the assembler.
//
// Run it with `go generate ./internal/simd`. Every output ends in a checksum of
// this module's sources and of itself; a test of package simd compares both, so
// that neither a changed generator nor a hand-edited output goes unnoticed.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// outputs names every generated pair of files, NAME_amd64.s and NAME_amd64.go,
// and the function that fills it.
var outputs = []struct {
	name string
	fill func(c *build.Context)
}{
	{"cpu", cpu},
	{"gemm_avx2", func(c *build.Context) { gemm(c, avx2) }},
	{"gemm_avx512", func(c *build.Context) { gemm(c, avx512) }},
	{"split_amx", split},
	{"vector_avx2", func(c *build.Context) { vector(c, avx2) }},
	{"vector_avx512", func(c *build.Context) { vector(c, avx512) }},
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FOLDER, the folder of package simd")
	}
	source, err := sourceSum(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range outputs {
		if err := write(filepath.Join(os.Args[1], o.name+"_amd64"), source, o.fill); err != nil {
			log.Fatalf("%s: %v", o.name, err)
		}
	}
}

// fold breaks signatures that are wider than a page.
func fold(text []byte) []byte {
	const page = 120
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if len(line) > page && strings.HasPrefix(line, "func ") {
			at := strings.LastIndex(line[:page], ", ") + 1
			lines[i] = line[:at] + "\n\t" + line[at+1:]
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func write(base, source string, fill func(*build.Context)) error {
	c := build.NewContext()
	c.ConstraintExpr("amd64,!noasm")
	fill(c)
	file, err := c.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	config := printer.Config{Name: "internal/simd/gen", Pkg: "simd"}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config)} {
		text, err := p.Print(file)
		if err != nil {
			return err
		}
		text = append(bytes.TrimRight(fold(text), "\n"), '\n')
		text = fmt.Appendf(text, "\n// sources %s\n// content %s\n", source, sum(text))
		if err := os.WriteFile(base+ext, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
