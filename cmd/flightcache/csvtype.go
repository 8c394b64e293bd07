package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// csvType is a type that a CSV column may have.
type csvType struct {
	name  string
	arrow arrow.DataType
	// append adds a field that is not empty, or returns an error and adds nothing.
	append func(b array.Builder, field string) error
}

// errValue is the error of a field that does not fit its column's type.
var errValue = errors.New("value does not fit")

// csvTypes are the types in the order in which they are tried; string, the last, takes anything.
var csvTypes = []csvType{
	{"bool", arrow.FixedWidthTypes.Boolean, appendBool},
	{"int64", arrow.PrimitiveTypes.Int64, appendInt64},
	{"float64", arrow.PrimitiveTypes.Float64, appendFloat64},
	{"date", arrow.FixedWidthTypes.Date32, appendDate},
	{"timestamp", &arrow.TimestampType{Unit: arrow.Microsecond}, appendLocalTime},
	{"timestamptz", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, appendInstant},
	{"string", arrow.BinaryTypes.String, appendString},
}

// csvColumnTypes chooses the type of each column: the one that given names for it, else the first that all values of the
// sample fit, and string where there is no value. A name in given that is no column's is an error, so is an unknown type.
func csvColumnTypes(names []string, sample [][]string, given map[string]string) ([]csvType, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%w: --type names the column %q, which is not there%s", errCSV, name, didYouMean(name, names))
		}
	}
	types := make([]csvType, len(names))
	for i, name := range names {
		if typeName, ok := given[name]; ok {
			t := slices.IndexFunc(csvTypes, func(t csvType) bool { return t.name == typeName })
			if t < 0 {
				return nil, fmt.Errorf("%w: --type %s=%s: unknown type; known are %s", errCSV, name, typeName, csvTypeNames())
			}
			types[i] = csvTypes[t]
			continue
		}
		types[i] = inferCSVType(i, sample)
	}
	return types, nil
}

// inferCSVType finds the first type that all values of a column fit. Each type is tried with a scratch builder, so that
// what is inferred is what can be read.
func inferCSVType(column int, sample [][]string) csvType {
	text := csvTypes[len(csvTypes)-1]
	for _, t := range csvTypes[:len(csvTypes)-1] {
		b := array.NewBuilder(memory.DefaultAllocator, t.arrow)
		fits, values := true, 0
		for _, row := range sample {
			if row[column] == "" {
				continue
			}
			values++
			if fits = t.append(b, row[column]) == nil; !fits {
				break
			}
		}
		b.Release()
		if fits && values > 0 {
			return t
		}
		if values == 0 {
			break
		}
	}
	return text
}

func csvTypeNames() string {
	names := make([]string, len(csvTypes))
	for i, t := range csvTypes {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// appendBool takes true and false in the three usual spellings; 0 and 1 are integers.
func appendBool(b array.Builder, field string) error {
	switch field {
	case "true", "True", "TRUE":
		b.(*array.BooleanBuilder).Append(true)
	case "false", "False", "FALSE":
		b.(*array.BooleanBuilder).Append(false)
	default:
		return errValue
	}
	return nil
}

// appendInt64 takes decimal integers of 64 bits. A leading zero, as postcodes have, or a plus sign would be lost and so
// makes text of the column.
func appendInt64(b array.Builder, field string) error {
	digits := strings.TrimPrefix(field, "-")
	if len(digits) > 1 && digits[0] == '0' || strings.HasPrefix(field, "+") || field == "-0" {
		return errValue
	}
	v, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return errValue
	}
	b.(*array.Int64Builder).Append(v)
	return nil
}

// appendFloat64 takes decimal numbers and NaN and the infinities. An integer beyond 64 bits, or with a leading zero or a
// plus sign, is no float: its digits would be lost.
func appendFloat64(b array.Builder, field string) error {
	digits := strings.TrimPrefix(field, "-")
	switch digits {
	case "NaN", "nan", "inf", "Inf", "Infinity", "infinity":
	default:
		if strings.Trim(digits, "0123456789+-.eE") != "" {
			return errValue
		}
		whole := len(digits)
		if i := strings.IndexAny(digits, ".eE"); i >= 0 {
			whole = i
		} else if _, err := strconv.ParseInt(field, 10, 64); err != nil {
			return errValue
		}
		if whole > 1 && digits[0] == '0' || strings.HasPrefix(digits, "+") {
			return errValue
		}
	}
	v, err := strconv.ParseFloat(field, 64)
	if err != nil {
		return errValue
	}
	b.(*array.Float64Builder).Append(v)
	return nil
}

// appendDate takes dates as 2024-12-31.
func appendDate(b array.Builder, field string) error {
	t, err := time.Parse(time.DateOnly, field)
	if err != nil {
		return errValue
	}
	b.(*array.Date32Builder).Append(arrow.Date32FromTime(t))
	return nil
}

// appendLocalTime takes times without an offset, as 2024-12-31 23:59:59.123456, with a T or a space.
func appendLocalTime(b array.Builder, field string) error {
	return appendTime(b, field, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04")
}

// appendInstant takes times with an offset, as RFC 3339 has them, and keeps them in UTC.
func appendInstant(b array.Builder, field string) error {
	return appendTime(b, field, time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700")
}

func appendTime(b array.Builder, field string, layouts ...string) error {
	for _, layout := range layouts {
		t, err := time.Parse(layout, field)
		if err != nil {
			continue
		}
		// What is finer than the column's unit would be lost.
		if t.Nanosecond()%1000 != 0 {
			return errValue
		}
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(t.UnixMicro()))
		return nil
	}
	return errValue
}

// appendString takes all UTF-8.
func appendString(b array.Builder, field string) error {
	b.(*array.StringBuilder).Append(strings.ToValidUTF8(field, "\ufffd"))
	return nil
}
