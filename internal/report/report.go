// Package report turns results into tables (text, CSV, LaTeX), figures (PNG,
// SVG, PDF) and self-contained HTML pages. It is pure: the same input gives the
// same bytes, and nothing is printed or looked up.
package report
