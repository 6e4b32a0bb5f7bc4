package formats

import (
	"bytes"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// The delimiter is guessed from the start of the text.
const (
	styleBytes   = 64 << 10
	styleRecords = 200
)

// guessDelimiter returns the character that divides the records at the start of a text into equally many
// fields, or most of them if none divides all. If several do, it is the one that makes most fields numbers, and the
// earlier candidate if that decides nothing.
func guessDelimiter(text []byte, whole bool, candidates []byte) byte {
	if len(text) > styleBytes {
		text, whole = text[:styleBytes], false
	}
	if end := bytes.LastIndexByte(text, '\n'); end >= 0 && !whole {
		text = text[:end+1]
	}
	best, bestShare, bestNumbers := candidates[0], 0.0, 0.0
	for _, delimiter := range candidates {
		records := recordsOf(text, delimiter)
		share := evenShare(records)
		const most = 0.8
		if share < most || share < bestShare {
			continue
		}
		if numbers := numberShare(records); share > bestShare || numbers > bestNumbers {
			best, bestShare, bestNumbers = delimiter, share, numbers
		}
	}
	return best
}

// recordsOf splits a text up to the first record that cannot be split.
func recordsOf(text []byte, delimiter byte) (list [][]string) {
	c := &csvReader{in: &input{buffer: text, end: len(text), line: 1, done: true}}
	c.Comma = delimiter
	for len(list) < styleRecords {
		rec, err := c.next()
		if err != nil {
			return list
		}
		fields, err := c.split(rec)
		if err != nil {
			return list
		}
		record := make([]string, len(fields))
		for j, field := range fields {
			record[j] = string(field)
		}
		list = append(list, record)
	}
	return list
}

// evenShare is the share of records with as many fields as most have, 0 if that is one field.
func evenShare(records [][]string) float64 {
	counts := map[int]int{}
	most := 0
	for _, r := range records {
		if counts[len(r)]++; counts[len(r)] > counts[most] {
			most = len(r)
		}
	}
	if most < 2 {
		return 0
	}
	return float64(counts[most]) / float64(len(records))
}

// numberShare is the share of the fields after the first record that are numbers, in any spelling, or empty.
func numberShare(records [][]string) float64 {
	numbers, all := 0, 1
	for _, field := range slices.Concat(records[1:]...) {
		all++
		if field == "" || cells.CoreOf([]byte(field)) != nil && !strings.ContainsAny(field, ";|\t") {
			numbers++
		}
	}
	return float64(numbers) / float64(all)
}
