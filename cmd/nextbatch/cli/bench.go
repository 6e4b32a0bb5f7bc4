package cli

import "github.com/spf13/cobra"

// newBench is the parent of the commands that repeat the paper's experiments.
func newBench() *cobra.Command {
	c := &cobra.Command{
		Use:        "bench",
		SuggestFor: []string{"benchmark"},
		Short:      "Compare methods on data sets with known labels, as the paper does",
		Example: `  nextbatch bench run --preset quick --data folder --results results.db
  nextbatch bench report results.db --out report
  nextbatch bench worker postgres://user@host/database`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newBenchRun(), newBenchWorker(), newBenchStatus(), newBenchExport(), newBenchReport())
	return c
}
