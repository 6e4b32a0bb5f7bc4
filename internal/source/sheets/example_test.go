package sheets_test

import (
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func ExampleCheckIDs() {
	table, err := dataset.NewTable(dataset.NewText("id", "a", "b", "a"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(sheets.CheckIDs(table, "id").Error(), "; ", "\n"))
	// Output:
	// row 2 (from 0), column 1 (id): the id does not identify one row: "a" is also the id of row 0
	// give each row a unique id, or name another column
}
