package formats

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// XML cannot hold control characters. A workbook has _xHHHH_ for them, where HHHH is a hexadecimal number, and _x005F_
// for an underscore that only looks like the start of such a code.

// appendEscaped adds text for XML, and returns its length as Excel counts it. It is not ok if the text is not UTF-8.
func appendEscaped(b []byte, text string) (to []byte, length int, ok bool) {
	for i, r := range text {
		length += utf16.RuneLen(r)
		switch {
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return b, length, false
			}
			b = utf8.AppendRune(b, r)
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r < ' ' && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			b = fmt.Appendf(b, "_x%04X_", r)
		case r == '_' && startsCode(text[i:]): // even if the underscore at its end comes from the next code
			b = append(b, "_x005F_"...)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b, length, true
}

const codeLength = len("_xHHHH_")

// isCode reports whether a text starts with such a code.
func isCode(text string) bool {
	return startsCode(text) && len(text) >= codeLength && text[codeLength-1] == '_'
}

// startsCode is isCode without the underscore at the end.
func startsCode(text string) bool {
	if len(text) < codeLength-1 || text[:2] != "_x" {
		return false
	}
	_, err := hex.DecodeString(text[2 : codeLength-1])
	return err == nil
}

// unescaped replaces the codes in the text of a cell by what they stand for. Half of a pair of UTF-16 stands for
// itself.
func unescaped(text []byte) []byte {
	if !bytes.Contains(text, []byte("_x")) {
		return text
	}
	var plain []byte
	for left := string(text); left != ""; {
		if !isCode(left) {
			plain, left = append(plain, left[0]), left[1:]
			continue
		}
		code, _ := strconv.ParseUint(left[2:codeLength-1], 16, 16) // which isCode has checked
		if utf16.IsSurrogate(rune(code)) {
			plain = append(plain, left[:codeLength]...)
		} else {
			plain = utf8.AppendRune(plain, rune(code))
		}
		left = left[codeLength:]
	}
	return plain
}
