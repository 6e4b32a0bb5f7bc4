// Package campaign labels a table over weeks: several people ask for rows and tell
// their labels, late and in any order, with failures and corrections, while rows are
// added and removed.
//
// A campaign is an append-only log of events. The status of a row (open, asked, labelled,
// failed, retired) follows from folding the log: see Fold. Every change has the same
// three steps: load the log, decide, and append to the log unless somebody else has
// appended in the meantime, in which case the decision is made again. Because appending
// is the only way to change anything, and is atomic, no event is ever stored in part, and
// no row is handed out twice.
//
//	start := campaign.Start{Table: table, IDColumn: "name", Targets: []string{"y"}}
//	c, err := campaign.New(ctx, store, "solubility", start)
//	batch, err := c.Ask(ctx, campaign.By{Person: "ada"}, campaign.Ask{Rows: 8})
//	told, err := c.Tell(ctx, campaign.By{Person: "ada"}, campaign.Tell{Entries: list})
//
// A Store keeps the logs of many campaigns, and the blobs that their events name: rows
// as Parquet, and the model that was fitted last.
package campaign
