package formats

import (
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetType determines how the values of a column are read.
type parquetType struct {
	number func(v parquet.Value) float64            // nil if they are not numbers
	text   func(dst []byte, v parquet.Value) []byte // appends the value as text
	whole  bool                                     // they are 64-bit integers
	time   bool                                     // they are dates or times
}

// parquetTypeOf returns how to read values of the type, if they are supported.
func parquetTypeOf(t parquet.Type) (parquetType, bool) {
	logical := any(nil)
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch as := logical.(type) {
	case *format.DecimalType:
		return decimals(t.Kind(), int(as.Scale))
	case *format.DateType:
		return days, t.Kind() == parquet.Int32
	case *format.TimestampType:
		zone := ""
		if as.IsAdjustedToUTC {
			zone = "Z"
		}
		return instants(unitOf(as.Unit), "2006-01-02T15:04:05.999999999"+zone), t.Kind() == parquet.Int64
	case *format.TimeType:
		return instants(unitOf(as.Unit), "15:04:05.999999999"), t.Kind() == parquet.Int64 || t.Kind() == parquet.Int32
	case *format.IntType:
		if !as.IsSigned {
			return unsigned(t.Kind())
		}
	case *format.UUIDType:
		return uuids, t.Kind() == parquet.FixedLenByteArray
	case *format.NullType, *format.BsonType, *format.GeometryType, *format.GeographyType, *format.VariantType:
		return parquetType{}, false
	}
	return plain(t.Kind())
}

func plain(kind parquet.Kind) (parquetType, bool) {
	switch kind {
	case parquet.Boolean:
		return parquetType{
			number: func(v parquet.Value) float64 {
				if v.Boolean() {
					return 1
				}
				return 0
			},
			text: func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) },
		}, true
	case parquet.Int32:
		return parquetType{
			number: func(v parquet.Value) float64 { return float64(v.Int32()) },
			text:   func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, int64(v.Int32()), 10) },
		}, true
	case parquet.Int64:
		return parquetType{
			number: func(v parquet.Value) float64 { return float64(v.Int64()) },
			text:   func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) },
			whole:  true,
		}, true
	case parquet.Float:
		return parquetType{
			number: func(v parquet.Value) float64 { return float64(v.Float()) },
			text: func(dst []byte, v parquet.Value) []byte {
				return strconv.AppendFloat(dst, float64(v.Float()), 'g', -1, 32)
			},
		}, true
	case parquet.Double:
		return parquetType{
			number: parquet.Value.Double,
			text:   func(dst []byte, v parquet.Value) []byte { return strconv.AppendFloat(dst, v.Double(), 'g', -1, 64) },
		}, true
	case parquet.ByteArray:
		return parquetType{text: func(dst []byte, v parquet.Value) []byte { return append(dst, v.ByteArray()...) }}, true
	case parquet.Int96:
		return parquetType{text: appendJulian, time: true}, true
	}
	return parquetType{}, false
}

func unsigned(kind parquet.Kind) (parquetType, bool) {
	if kind == parquet.Int32 {
		return parquetType{
			number: func(v parquet.Value) float64 { return float64(v.Uint32()) },
			text:   func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, uint64(v.Uint32()), 10) },
		}, true
	}
	return parquetType{
		number: func(v parquet.Value) float64 { return float64(v.Uint64()) },
		text:   func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, v.Uint64(), 10) },
		whole:  true,
	}, kind == parquet.Int64
}

// decimals are integers with a fixed number of digits after the point.
func decimals(kind parquet.Kind, scale int) (parquetType, bool) {
	unscaled := func(v parquet.Value) *big.Int { return twosComplement(v.ByteArray()) }
	switch kind {
	case parquet.Int32:
		unscaled = func(v parquet.Value) *big.Int { return big.NewInt(int64(v.Int32())) }
	case parquet.Int64:
		unscaled = func(v parquet.Value) *big.Int { return big.NewInt(v.Int64()) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
	default:
		return parquetType{}, false
	}
	text := func(dst []byte, v parquet.Value) []byte { return appendDecimal(dst, unscaled(v), scale) }
	number := func(v parquet.Value) float64 {
		n, _ := strconv.ParseFloat(string(text(nil, v)), 64) // infinite where it overflows
		return n
	}
	return parquetType{number: number, text: text}, 0 <= scale && scale <= 1000
}

// twosComplement reads a signed integer, most significant byte first.
func twosComplement(raw []byte) *big.Int {
	n := new(big.Int).SetBytes(raw)
	if len(raw) > 0 && raw[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return n
}

func appendDecimal(dst []byte, unscaled *big.Int, scale int) []byte {
	if unscaled.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := new(big.Int).Abs(unscaled).Append(nil, 10)
	for len(digits) <= scale {
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[point:]...)
	}
	return dst
}

var days = parquetType{time: true, text: func(dst []byte, v parquet.Value) []byte {
	return time.Unix(int64(v.Int32())*24*3600, 0).UTC().AppendFormat(dst, time.DateOnly)
}}

// instants count units of time since 1970, or since midnight.
func instants(unit time.Duration, layout string) parquetType {
	return parquetType{time: true, text: func(dst []byte, v parquet.Value) []byte {
		n := int64(0)
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		} else {
			n = v.Int64()
		}
		second := int64(time.Second / unit)
		return time.Unix(n/second, n%second*int64(unit)).UTC().AppendFormat(dst, layout)
	}}
}

func unitOf(u format.TimeUnit) time.Duration {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return time.Millisecond
	case *format.MicroSeconds:
		return time.Microsecond
	}
	return time.Nanosecond
}

// appendJulian writes the deprecated form of an instant: nanoseconds of the day in 8 bytes, and the Julian day in 4.
func appendJulian(dst []byte, v parquet.Value) []byte {
	const epoch = 2440588 // the Julian day of 1 January 1970
	words := v.Int96()
	nanoseconds := int64(words[1])<<32 | int64(words[0])
	day := int64(words[2]) - epoch
	return time.Unix(day*24*3600, nanoseconds).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999999")
}

var uuids = parquetType{text: func(dst []byte, v parquet.Value) []byte {
	raw := v.ByteArray()
	for i, b := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}}

const hexDigits = "0123456789abcdef"
