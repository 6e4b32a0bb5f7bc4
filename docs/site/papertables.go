package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	paperSource  = "docs/benchmark.md"
	tablesSource = "docs/paper-tables.md" // made, not a file
)

// addTables makes a page of the tables that the program makes from the results in docs/paper.parquet.
func (s *site) addTables(program string) error {
	folder, err := os.MkdirTemp("", "site")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	results := filepath.Join(s.root, "docs", "paper.parquet")
	c := exec.Command(program, "bench", "report", results, "--against", "paper", "--format",
		"csv,text", "--out", folder, "-q")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "tables", "*.csv"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("bench report wrote %d tables: %v", len(files), err)
	}
	var b strings.Builder
	b.WriteString("# The paper's tables\n\n")
	b.WriteString("The results of [the paper's benchmark](benchmark.md#results-beside-the-paper), as `nextbatch bench " +
		"report` shows them: 16 batches of 256 rows, 20 splits of four data sets. A click on the head of a column " +
		"sorts by it.\n\n")
	for _, file := range files {
		if err := writeTable(&b, file); err != nil {
			return err
		}
	}
	s.add(tablesSource, "", b.String())
	return nil
}

// writeTable adds a table. Its title and its notes are those of the table as a text: the first paragraph, and the last.
func writeTable(b *strings.Builder, file string) error {
	text, err := os.ReadFile(strings.TrimSuffix(file, ".csv") + ".txt")
	if err != nil {
		return err
	}
	opened, err := os.Open(file)
	if err != nil {
		return err
	}
	defer opened.Close()
	records, err := csv.NewReader(opened).ReadAll()
	if err != nil {
		return err
	}
	paragraphs := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	fmt.Fprintf(b, "## %s\n\n", escaped(strings.TrimSuffix(oneLine(paragraphs[0]), ", 16 batches of 256 rows")))
	for i, record := range records {
		for _, cell := range record {
			b.WriteString("| " + shownCell(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(record)) + "|\n")
		}
	}
	if len(paragraphs) > 2 {
		fmt.Fprintf(b, "\n%s\n", escaped(oneLine(paragraphs[len(paragraphs)-1])))
	}
	b.WriteByte('\n')
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// shownCell is a cell as Markdown. A kernel with its transformations is code.
func shownCell(cell string) string {
	if strings.HasPrefix(cell, "grad > ") {
		return codeSpan(strings.ReplaceAll(cell, " > ", ">"))
	}
	return escaped(rounded(cell))
}

var longNumber = regexp.MustCompile(`^-?[0-9]+\.[0-9]{4,}(e-?[0-9]+)?$`)

// rounded shows a number with as many digits as its standard error deserves.
func rounded(cell string) string {
	value, err := strconv.ParseFloat(cell, 64)
	if err != nil || !longNumber.MatchString(cell) {
		return cell
	}
	if value > -10 && value < 10 {
		return strconv.FormatFloat(value, 'f', 4, 64)
	}
	return strconv.FormatFloat(value, 'f', 1, 64)
}
