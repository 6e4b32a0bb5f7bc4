package formats

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// CheckRewrite rejects a workbook that would lose more than formats if the table of its sheet replaced it: other
// sheets, or formulas, which would become values. The error is an ErrMore.
func CheckRewrite(ctx context.Context, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := open(file)
	if err == nil {
		err = checkRewrite(ctx, content)
	}
	return inFile(name, ended(ctx, err))
}

func checkRewrite(ctx context.Context, r io.Reader) error {
	content, _, err := randomAccess(ctx, r, sheets.Options{})
	if err != nil {
		return err
	}
	archive, err := openArchive(content)
	if err != nil {
		return err
	}
	w := &workbook{ctx: ctx, archive: archive}
	root, parts := relations{}, relations{}
	if err := w.walkSmall("_rels/.rels", relationReader{"", root}); err != nil {
		return err
	}
	book := root.target("officeDocument")
	if err := w.walkSmall(path.Join(path.Dir(book), "_rels", path.Base(book)+".rels"),
		relationReader{path.Dir(book), parts}); err != nil {
		return err
	}
	tables := 0
	for _, part := range parts {
		if part.kind == "worksheet" || part.kind == "chartsheet" {
			tables++
		}
	}
	if tables > 1 {
		return &sheets.Error{Kind: sheets.ErrMore, Detail: fmt.Sprintf("it has %d sheets, and a new file would have one",
			tables), Advice: rewriteAdvice}
	}
	return w.walk(parts.target("worksheet"), formulaFinder{})
}

const rewriteAdvice = "write to another file"

// formulaFinder returns an error for the first formula.
type formulaFinder struct{}

func (formulaFinder) start(element string, _ []xml.Attr) error {
	if element == "f" {
		return &sheets.Error{Kind: sheets.ErrMore, Detail: "it has formulas, which would become values",
			Advice: rewriteAdvice}
	}
	return nil
}

func (formulaFinder) end(string, []byte) error { return nil }
