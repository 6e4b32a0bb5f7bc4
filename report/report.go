// Package report turns results into tables (text, CSV, LaTeX), figures (PNG,
// SVG, PDF) and one HTML page that needs nothing beside itself. It is pure: what
// goes in decides what comes out, byte for byte, and nothing is printed or
// looked up.
package report
