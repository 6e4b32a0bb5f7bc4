package words

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Text is a message as a value: it keeps numbers apart from words, so that each reader gets them with the decimal mark
// of the table at hand. Names, such as ids and specs, stay as they are.
type Text struct {
	format string
	args   []any
}

// Num is the text of a number, such as 1,234.5. It gets the decimal mark of the text that it is part of.
type Num string

// Textf returns a text, of what fmt.Sprintf takes. Floating-point numbers, Nums and texts get the decimal mark, also
// texts that a method Text of an argument returns.
func Textf(format string, args ...any) Text { return Text{format, args} }

// Counted is Count as a text.
func Counted(n int, one, many string) Text {
	if n == 1 {
		return Textf("1 %s", one)
	}
	return Textf("%s %s", Num(Whole(n)), many)
}

// Joined puts texts in a row, with this between them.
func Joined(list []Text, between string) Text {
	var all Text
	for i, text := range list {
		if i > 0 {
			all.format += strings.ReplaceAll(between, "%", "%%")
		}
		all.format, all.args = all.format+"%v", append(all.args, text)
	}
	return all
}

// String writes the text with decimal points.
func (t Text) String() string { return t.In(0) }

// In writes the text with a decimal mark; 0 means a point.
func (t Text) In(decimal byte) string {
	args := make([]any, len(t.args))
	for i, arg := range t.args {
		args[i] = inMark(arg, decimal)
	}
	return fmt.Sprintf(t.format, args...)
}

// inMark returns an argument as it is written with a decimal mark.
func inMark(arg any, decimal byte) any {
	switch arg := arg.(type) {
	case nil:
		return nil
	case Num:
		return Marked(string(arg), decimal)
	case Text:
		return arg.In(decimal)
	case interface{ Text() Text }:
		return arg.Text().In(decimal)
	}
	if kind := reflect.TypeOf(arg).Kind(); kind == reflect.Float32 || kind == reflect.Float64 {
		return float{arg, decimal}
	}
	return arg
}

// float is a floating-point number that is formatted with a decimal mark.
type float struct {
	value   any
	decimal byte
}

func (f float) Format(to fmt.State, verb rune) {
	_, _ = io.WriteString(to, Marked(fmt.Sprintf(fmt.FormatString(to, verb), f.value), f.decimal))
}

// MarshalText writes the text with decimal points, as JSON has it.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a text whose numbers are no longer apart.
func (t *Text) UnmarshalText(text []byte) error {
	*t = Textf("%s", string(text))
	return nil
}
