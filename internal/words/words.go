// Package words puts numbers and names into messages.
package words

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count puts a number before the words that agree with it, such as "row has" and
// "rows have".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Whole(n) + " " + many
}

// Whole writes a whole number with commas between thousands.
func Whole(n int) string { return grouped(strconv.Itoa(n)) }

// Number writes a number with at least four significant digits and commas between
// thousands, and with an exponent only where people would write one.
func Number(v float64) string {
	size := math.Abs(v)
	if v == 0 || !(size >= 1e-4 && size < 1e12) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	text := strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(size)))), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return grouped(text)
}

// Plain writes the value of an input like Number but without commas, as tables have it:
// 2015 may be a year.
func Plain(v float64) string { return strings.ReplaceAll(Number(v), ",", "") }

// Brief writes a number with two significant digits, and otherwise like Number: 170 and not 1.7e+02.
func Brief(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64) // it is a number, or NaN or Inf
	return Number(rounded)
}

// Marked writes the text of a number with a decimal mark, 0 for a point; a comma swaps places with the mark of
// thousands.
func Marked(number string, decimal byte) string {
	if decimal != ',' {
		return number
	}
	return strings.NewReplacer(".", ",", ",", ".").Replace(number)
}

// Some lists the first few names.
func Some(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// List joins names as in a sentence.
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Quoted puts quotation marks around names.
func Quoted(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return list
}

// FirstQuoted quotes n names, the first few if there are many: no others are asked for.
func FirstQuoted(n int, name func(i int) string) string {
	const most = 20
	quoted := make([]string, min(n, most))
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%q", name(i))
	}
	text := strings.Join(quoted, ", ")
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// Argument writes a text as an argument of a command, in quotes where a shell needs
// them.
func Argument(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:,@%+=", r) || r > 0x7f
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// CommandLine writes a command with its arguments for a shell.
func CommandLine(args ...string) string {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = Argument(arg)
	}
	return strings.Join(texts, " ")
}

// Wrap breaks a text into lines of at most this many characters, as far as its words
// allow; there is at least one line.
func Wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Nearest returns the name that was probably meant by another one: it differs in upper and lower case, in blanks and
// the like, in a unit in brackets, or in a letter or two. It is empty if there is none.
func Nearest(name string, names []string) string {
	plain := func(text string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" _-.", r) {
				return -1
			}
			return unicode.ToLower(r)
		}, text)
	}
	best, fewest := "", max(1, min(2, len(name)/3))+1
	for _, other := range names {
		if plain(other) == plain(name) {
			return other
		}
		bare, _, _ := strings.Cut(strings.Replace(plain(other), "[", "(", 1), "(")
		if d := min(distance(plain(name), plain(other)), distance(plain(name), bare)); d < fewest && d < len(bare) {
			best, fewest = other, d
		}
	}
	return best
}

// distance is how many letters of one word have to be changed, added or removed to get the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		before := row[0]
		row[0] = i + 1
		for j, q := range y {
			change := before
			if r != q {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(y)]
}

// DidYouMean is a question about a name that is not among others; empty if none of them is near.
func DidYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return "did you mean " + strconv.Quote(near) + "? "
	}
	return ""
}

// Grouped writes a number as people do, with all of its digits and commas between
// thousands: 9,999,999 and 0.25.
func Grouped(v float64) string {
	if size := math.Abs(v); v != 0 && !(size >= 1e-6 && size < 1e15) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return grouped(strconv.FormatFloat(v, 'f', -1, 64))
}

// grouped puts commas between the thousands of a number in decimal digits.
func grouped(text string) string {
	if strings.Trim(text, "-0.") == "" {
		return "0" // not -0
	}
	whole, part, _ := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if part != "" {
		whole += "." + part
	}
	return whole
}

// Sign is what stands before a number of which only a limit is known: -1 where the true one lies below it, 1 where it
// lies above, and 0 where the number is the true one.
func Sign(side int8) string { return map[int8]string{-1: "<", 1: ">"}[side] }

// Share writes a share as a fraction, where it is one of a whole number: 1/8, and 0.3.
func Share(share float64) string {
	if under := 1 / share; share > 0 && share < 1 && under == math.Trunc(under) {
		return fmt.Sprintf("1/%.0f", under)
	}
	return fmt.Sprint(share)
}

// Range writes the limits of a range with as many digits as its width deserves: 58,000
// and 83,000.
func Range(low, high float64) (string, string) {
	width := math.Abs(high - low)
	if !(width >= 1e-6 && max(math.Abs(low), math.Abs(high)) < 1e15) {
		return Grouped(low), Grouped(high)
	}
	texts := alike(exponent(width)-1, low, high) // two digits of the width
	return texts[0], texts[1]
}

// Estimate writes a number and the interval around it: 3,030 (2,310 to 4,560).
func Estimate(v, low, high float64) Text {
	value, from, to := Interval(v, low, high)
	return Textf("%s (%s to %s)", Num(value), Num(from), Num(to))
}

// Interval writes a number and the ends of the interval around it, all to the same
// digit: three digits of the largest, and at least two of the width.
func Interval(v, low, high float64) (value, from, to string) {
	width, largest := math.Abs(high-low), max(math.Abs(v), math.Abs(low), math.Abs(high))
	if !(width >= 1e-6*largest && width >= 1e-9 && largest < 1e12) {
		return Number(v), Number(low), Number(high)
	}
	texts := alike(min(exponent(largest)-2, exponent(width)-1), v, low, high)
	return texts[0], texts[1], texts[2]
}

func exponent(v float64) int { return int(math.Floor(math.Log10(v))) }

// alike writes numbers in multiples of the same power of ten, without zeros that all
// would end in: 66 to 74, not 66.0 to 74.0.
func alike(unit int, numbers ...float64) []string {
	texts := make([]string, len(numbers))
	for ; ; unit++ {
		zeros := unit < 0
		for i, v := range numbers {
			if unit <= 0 {
				texts[i] = strconv.FormatFloat(v, 'f', -unit, 64)
			} else {
				step := math.Pow10(unit)
				texts[i] = strconv.FormatFloat(math.Round(v/step)*step, 'f', 0, 64)
			}
			zeros = zeros && strings.HasSuffix(texts[i], "0")
		}
		if !zeros {
			break
		}
	}
	for i := range texts {
		texts[i] = grouped(texts[i])
	}
	return texts
}

// Memory spells an amount of memory in the unit that suits it.
func Memory(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes > 0 && bytes < 1<<10:
		return Count(int(bytes), "byte", "bytes")
	case bytes > 0 && bytes < 1<<20:
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
}

// FreeName is the name of a column of ours in a file that has others: the name itself or, where it is taken, with
// "nextbatch_" before it.
func FreeName(name string, taken ...string) string {
	for slices.Contains(taken, name) {
		name = "nextbatch_" + name
	}
	return name
}
