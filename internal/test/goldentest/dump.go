package goldentest

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Dump returns v as readable YAML. It omits empty fields, keeps the order of the other fields, and sorts maps by key.
// A value in a Go interface has the name of its type as key. A value with MarshalText or String is written as that
// text.
func Dump(v any) string {
	return strings.Join(valueLines(reflect.ValueOf(v)), "\n") + "\n"
}

// valueLines returns the YAML lines of v without key or dash. A scalar is one line.
func valueLines(v reflect.Value) []string {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return []string{"null"}
	}
	if text, ok := textOf(v); ok {
		return []string{quoteIfNeeded(text)}
	}
	switch v.Kind() {
	case reflect.Interface:
		return interfaceLines(v.Elem())
	case reflect.Struct:
		return fieldLines(v)
	case reflect.Map:
		return mapLines(v)
	case reflect.Slice, reflect.Array:
		return listLines(v)
	case reflect.String:
		return []string{quoteIfNeeded(v.String())}
	}
	return []string{fmt.Sprint(v.Interface())}
}

// isScalar reports whether v is written on the same line as its key.
func isScalar(v reflect.Value) bool {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return true
	}
	if _, ok := textOf(v); ok {
		return true
	}
	switch v.Kind() {
	case reflect.Interface:
		e := v.Elem()
		return e.Kind() == reflect.Struct && isEmpty(e)
	case reflect.Struct:
		return isEmpty(v)
	case reflect.Map, reflect.Slice, reflect.Array:
		return v.Len() == 0
	}
	return true
}

// isEmpty reports whether a field with value v is omitted.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		if _, ok := textOf(v); ok {
			return v.IsZero()
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !isEmpty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

func keyedLines(key string, v reflect.Value) []string {
	inner := valueLines(v)
	if isScalar(v) {
		return []string{key + ": " + inner[0]}
	}
	out := []string{key + ":"}
	for _, l := range inner {
		out = append(out, "  "+l)
	}
	return out
}

// interfaceLines returns the YAML lines of v, a value in a Go interface, with the name of its type as key. An empty
// struct is written as that name only.
func interfaceLines(v reflect.Value) []string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && isEmpty(v) {
		return []string{v.Type().Name()}
	}
	return keyedLines(v.Type().Name(), v)
}

func fieldLines(v reflect.Value) []string {
	var out []string
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !isEmpty(v.Field(i)) {
			out = append(out, keyedLines(f.Name, v.Field(i))...)
		}
	}
	if out == nil {
		return []string{"{}"}
	}
	return out
}

func mapLines(v reflect.Value) []string {
	if v.Len() == 0 {
		return []string{"{}"}
	}
	byName := map[string]reflect.Value{}
	var names []string
	for _, k := range v.MapKeys() {
		name := fmt.Sprint(k.Interface())
		byName[name] = v.MapIndex(k)
		names = append(names, name)
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		out = append(out, keyedLines(quoteIfNeeded(name), byName[name])...)
	}
	return out
}

func listLines(v reflect.Value) []string {
	if v.Len() == 0 {
		return []string{"[]"}
	}
	var out []string
	for i := range v.Len() {
		for j, l := range valueLines(v.Index(i)) {
			lead := "  "
			if j == 0 {
				lead = "- "
			}
			out = append(out, lead+l)
		}
	}
	return out
}

// textOf returns the text of a value that has MarshalText or String. It returns false for other values.
func textOf(v reflect.Value) (string, bool) {
	if !v.CanInterface() {
		return "", false
	}
	x := v.Interface()
	if v.CanAddr() && v.Kind() == reflect.Struct {
		if s, ok := v.Addr().Interface().(fmt.Stringer); ok {
			return s.String(), true
		}
	}
	switch x := x.(type) {
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		return string(b), err == nil
	case fmt.Stringer:
		return x.String(), true
	}
	return "", false
}

// quoteIfNeeded quotes s if it is empty or has characters with a meaning in YAML. Numbers and booleans are not quoted.
func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsAny(s, "\n\t\"") || strings.TrimSpace(s) != s ||
		strings.ContainsAny(s[:1], "[]{}*&!|>%@`'#?-,") || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return strconv.Quote(s)
	}
	return s
}
