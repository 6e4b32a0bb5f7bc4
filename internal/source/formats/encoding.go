package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// decoding returns the next character of a text.
type decoding func(from *bufio.Reader) (rune, error)

// encodings holds the decoding by name. UTF-8 needs none.
var encodings = map[string]decoding{
	"utf-8": nil, "utf8": nil,
	"utf-16le": utf16Order(0, 1), "utf-16be": utf16Order(1, 0),
	"latin1": latin1, "latin-1": latin1, "iso-8859-1": latin1,
	"windows-1252": windows1252, "cp1252": windows1252,
}

// CheckEncoding rejects a name that Options.Encoding cannot have.
func CheckEncoding(name string) error {
	if _, known := encodings[strings.ToLower(name)]; known || name == "" {
		return nil
	}
	return &sheets.Error{Kind: sheets.ErrFormat, Detail: fmt.Sprintf("there is no encoding %q", name),
		Advice: "encodings are utf-8, utf-16le, utf-16be, latin1 and windows-1252"}
}

// marks are byte-order marks and the encodings that they announce.
var marks = []struct{ bytes, encoding string }{
	{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
}

// hasMark reports whether a text starts with a byte-order mark.
func hasMark(text string) bool {
	return slices.ContainsFunc(marks,
		func(m struct{ bytes, encoding string }) bool { return strings.HasPrefix(text, m.bytes) })
}

// decodingOf returns how to decode a text that starts so, and the length of its byte-order mark.
func decodingOf(start []byte, encoding string) (decode decoding, mark int, err error) {
	encoding = strings.ToLower(encoding)
	if err := CheckEncoding(encoding); err != nil {
		return nil, 0, err
	}
	for _, m := range marks {
		if !bytes.HasPrefix(start, []byte(m.bytes)) {
			continue
		}
		if encoding != "" && encoding != m.encoding && !(encoding == "utf8" && m.encoding == "utf-8") {
			return nil, 0,
				&sheets.Error{Kind: sheets.ErrEncoding,
					Detail: fmt.Sprintf("it starts with the byte-order mark of %s, but is declared %s", m.encoding, encoding),
					Advice: "leave the encoding out"}
		}
		return encodings[m.encoding], len(m.bytes), nil
	}
	return encodings[encoding], 0, nil
}

// guessEncoding returns the encoding of a text that starts so, without a byte-order mark: empty for UTF-8, or that
// of Excel's CSV where the text is not UTF-8. Cut means that the text goes on.
func guessEncoding(start []byte, cut bool) string {
	if even, odd := zeros(start); max(even, odd) > 0.3 && min(even, odd) < 0.05 {
		if odd > even {
			return "utf-16le"
		}
		return "utf-16be"
	}
	if cut {
		start = start[:max(0, len(start)-utf8.UTFMax+1)]
		for len(start) > 0 && !utf8.RuneStart(start[len(start)-1]) {
			start = start[:len(start)-1]
		}
		start = start[:max(0, len(start)-1)]
	}
	switch {
	case utf8.Valid(start) || bytes.IndexByte(start, 0) >= 0: // or a binary file
		return ""
	case slices.ContainsFunc(start, func(c byte) bool { return charmap.Windows1252.DecodeByte(c) == utf8.RuneError }):
		return "latin1"
	}
	return "windows-1252"
}

// zeros returns the shares of zero bytes at even and at odd places.
func zeros(text []byte) (even, odd float64) {
	for i, c := range text {
		if c != 0 {
			continue
		}
		if i%2 == 0 {
			even++
		} else {
			odd++
		}
	}
	half := float64(max(1, len(text)/2))
	return even / half, odd / half
}

// decoder makes UTF-8 of a text in another encoding.
type decoder struct {
	from   *bufio.Reader
	decode decoding
	rest   []byte // of a character that did not fit
	space  [utf8.UTFMax]byte
}

func (d *decoder) Read(to []byte) (n int, err error) {
	for n < len(to) {
		if len(d.rest) == 0 {
			r, err := d.decode(d.from)
			if err != nil {
				return n, err
			}
			d.rest = utf8.AppendRune(d.space[:0], r)
		}
		size := copy(to[n:], d.rest)
		d.rest = d.rest[size:]
		n += size
	}
	return n, nil
}

func latin1(from *bufio.Reader) (rune, error) {
	b, err := from.ReadByte()
	return rune(b), err
}

func windows1252(from *bufio.Reader) (rune, error) {
	b, err := from.ReadByte()
	r := charmap.Windows1252.DecodeByte(b)
	if err == nil && r == utf8.RuneError {
		err = &sheets.Error{Kind: sheets.ErrEncoding, Detail: fmt.Sprintf("windows-1252 has no character \\x%02x", b),
			Advice: "check the encoding; latin1 reads any byte"}
	}
	return r, err
}

// utf16Order reads 16 bits at a time, whose lower and upper byte are at these places.
func utf16Order(low, high int) decoding {
	unit := func(from *bufio.Reader) (rune, error) {
		var pair [2]byte
		if _, err := io.ReadFull(from, pair[:]); err != nil {
			return 0, err
		}
		return rune(pair[high])<<8 | rune(pair[low]), nil
	}
	return func(from *bufio.Reader) (rune, error) {
		r, err := unit(from)
		if err == nil && utf16.IsSurrogate(r) {
			second, errSecond := unit(from)
			if r, err = utf16.DecodeRune(r, second), errSecond; r == utf8.RuneError || err == io.EOF {
				return 0, brokenUTF16
			}
		}
		if err == io.ErrUnexpectedEOF {
			err = brokenUTF16
		}
		return r, err
	}
}

var brokenUTF16 = &sheets.Error{Kind: sheets.ErrEncoding, Detail: "a character of UTF-16 is incomplete",
	Advice: "check that the file is complete, and its encoding"}
