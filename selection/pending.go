package selection

// Pending rows are pool rows whose labels are on their way: an earlier batch that is
// out being measured. They are rows that an earlier run of the template has picked, so
//
//   - they count as selected before the first step, in mode P, too: each is ADDed, in
//     the order given, after X_mode and before the required rows;
//   - X_rem = X_pool \ (X_batch ∪ X_pending): they are not picked, and are in no cluster,
//     but may be centres;
//   - X_pool itself keeps them: BAIT sums variances, FrankWolfe sums features, and a
//     target weighs rows over all of it;
//   - they take no part in what is counted for the new batch: its size, its budget, the
//     limits of its groups, and the rows that BAIT-FB picks beyond it and removes again.
//     It never removes a pending row.
//
// A kernel that conditions on training rows should condition on pending rows as well,
// which needs no labels. That is up to the caller, who makes the kernel. If the method
// conditions on what it ADDs, too (MaxDet, BAIT), such a caller excludes these rows
// instead of calling them pending: otherwise each would be observed twice.

// checkPending reports pending rows that do not exist, are named twice or are required.
func checkPending(c *complaints, pending, require []int, pool int) {
	known := checkRows(c, "Pending", pending, pool)
	c.when(len(known) < len(pending), "Pending", "a row is named twice")
	for _, row := range require {
		c.when(known[row], "Require", "row %d is pending", row)
	}
}
