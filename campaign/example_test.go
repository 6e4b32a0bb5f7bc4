package campaign_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/network"
)

// A campaign from its first ask to its advice. The store here is in memory; sqlite.Open and
// postgres.Open return lasting ones.
func Example() {
	ctx := context.Background()
	ids, x := dataset.NewText("name"), dataset.NewNumeric("x")
	for i := range 100 {
		ids.Append(fmt.Appendf(nil, "s%02d", i))
		x.Append(math.Sin(float64(i)))
	}
	table, err := dataset.NewTable(ids, x)
	if err != nil {
		log.Fatal(err)
	}
	c, err := campaign.New(ctx, &storetest.Memory{}, "solubility", campaign.Start{
		Table: table, IDColumn: "name", Targets: []string{"y"},
		Settings: campaign.Settings{
			Audit: new(0.5), // every second row shows where we stand
			Choices: fitted.Choices{
				Network: network.Config{Architecture: network.Architecture{Hidden: []int{16}},
					Training: network.Training{Epochs: 20}},
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ada := campaign.By{Person: "ada"}
	for range 3 {
		batch, err := c.Ask(ctx, ada, campaign.Ask{Rows: 16})
		if err != nil {
			log.Fatal(err)
		}
		var measured []campaign.Entry
		for _, row := range batch.Rows { // measure …
			value := math.Pow(math.Sin(float64(row.Row)), 2)
			measured = append(measured, campaign.Entry{ID: row.ID, Values: []float64{value}})
		}
		if _, err := c.Tell(ctx, ada, campaign.Tell{Entries: measured}); err != nil {
			log.Fatal(err)
		}
	}
	where, err := c.Standing(ctx, "rmse<100")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d labelled, %d open, %d audit rows were predicted\n", where.Labelled, where.Open,
		where.Targets[0].Audited)
	fmt.Println(where.Advice.Verdict)
	// Output:
	// 48 labelled, 52 open, 16 audit rows were predicted
	// stop
}
