// Package plate lays out measurements on the wells of plates, such as the 8 rows and 12 columns of a plate with 96
// wells.
//
// Two measurements on one plate are as far apart as the centres of their wells; on different plates, they are
// infinitely far apart. Of two layouts, the better one has fewer pairs of replicates at the smallest distance where
// they differ: first fewer replicates in neighbouring wells, then fewer in diagonal ones, and so on. That maximises the
// smallest distance between replicates of a row first. From a distance of √(wells ÷ 2R) on, where R is how many
// replicates of the row the plate has, replicates count as far enough apart, if they are also more than two rows or two
// columns apart. Of layouts that are equal in this, the better one keeps the rows of a group apart in the same way,
// where only wells count that lie up to two rows and two columns from each other.
//
// To find the best of all layouts would take too long. A start deals the first replicates of all rows to the wells in
// reading order, A1, A2 and so on, then the second ones. Then wells are swapped, also with empty ones, as long as a
// swap makes the layout better, so no single swap improves the result (unless a row has hundreds of replicates on the
// largest plates, where the search ends earlier). Small plates start again from random layouts, of which one is kept if
// it is better. Without replicates and groups, the measurements are therefore in reading order. A seed determines the
// layout.
//
// A plate holds measurements of one run only: what the rows of a run share, such as a temperature, is a property
// of the whole plate. A run that does not fit takes the fewest plates that hold it, all of them equally full (up to
// one well), so that the replicates of a row are on different plates where they can be.
package plate
