// Package trees learns a label from a table with ensembles of regression trees:
// gradient boosting on histograms (FitBoosting) and extremely randomised trees
// (FitExtraTrees).
//
// Inputs are float32; NaN means that a value is missing. A column is numeric, or
// categorical with level codes. A categorical column with few levels becomes one
// indicator per level. One with many becomes the mean label of its level; a training
// row takes the mean over the rows that precede it in a random order, so that its own
// label does not leak into its input (ordered target statistics, as in CatBoost).
// Each split learns on which side missing values belong. Labels are standardised
// internally, so no option depends on their unit.
//
// Both kinds of ensemble are a Model: the prediction for a row is an offset plus what
// each tree contributes. One seed gives one model, whatever the number of threads.
package trees
