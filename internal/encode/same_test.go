package encode_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
)

func TestSameCell(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		back, cell string
		same       bool
	}{
		{"0.0346949161554185", "0.03469491615541852", true}, // a workbook of LibreOffice
		{"0.0346949162", "0.03469491615541852", true},
		{"0.034694916", "0.03469491615541852", true}, // a CSV file of Excel
		{"4.6084E-06", "4.608399124288943e-06", true},
		{"1.23457E+11", "123456789012.5", true},
		{"1700059000", "1.7000590002450833e+09", true},
		{"-0.00364413843452567", "-0.003644138434525674", true},
		{"3", "3.0", true},
		{"007", "7", true},
		{"TRUE", "true", true},
		{"04.03.2024", "2024-03-04", true},
		{"3/4/2024", "2024-03-04", true},
		{"", "", true},
		{"0.03469492", "0.03469491615541852", false},
		{"4.6085E-06", "4.608399124288943e-06", false},
		{"1.23456788", "1.23456789", false},
		{"1700000001", "1700000002", false},
		{"100", "100.0001", false},
		{"0", "1e-12", false},
		{"-1.5", "1.5", false},
		{"", "0", false},
		{"w", "W", false},
		{"TRUE", "false", false},
		{"05.03.2024", "2024-03-04", false},
	} {
		if encode.SameCell(test.back, test.cell) != test.same {
			t.Errorf("%q for %q: the same? %v", test.back, test.cell, !test.same)
		}
	}
}
