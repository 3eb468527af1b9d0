package goldentest

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Dump writes a value as YAML for people: fields in their order, without those that are empty;
// maps by key; values behind Go interfaces under the name of their type; values that have a
// text form of their own (MarshalText, String) in that form.
func Dump(v any) string {
	return strings.Join(lines(reflect.ValueOf(v)), "\n") + "\n"
}

// lines renders a value; a scalar is exactly one line without a colon or dash of ours.
func lines(v reflect.Value) []string {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return []string{"null"}
	}
	if text, ok := textOf(v); ok {
		return []string{quoted(text)}
	}
	switch v.Kind() {
	case reflect.Interface:
		return variant(v.Elem())
	case reflect.Struct:
		return fields(v)
	case reflect.Map:
		return entries(v)
	case reflect.Slice, reflect.Array:
		return items(v)
	case reflect.String:
		return []string{quoted(v.String())}
	}
	return []string{fmt.Sprint(v.Interface())}
}

// scalar reports whether a kind of value is written on one line behind its key.
func scalar(v reflect.Value) bool {
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
		return e.Kind() == reflect.Struct && blank(e)
	case reflect.Struct:
		return blank(v)
	case reflect.Map, reflect.Slice, reflect.Array:
		return v.Len() == 0
	}
	return true
}

// blank reports whether a value has nothing to show.
func blank(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		if _, ok := textOf(v); ok {
			return v.IsZero()
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !blank(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

func under(key string, v reflect.Value) []string {
	inner := lines(v)
	if scalar(v) {
		return []string{key + ": " + inner[0]}
	}
	out := []string{key + ":"}
	for _, l := range inner {
		out = append(out, "  "+l)
	}
	return out
}

// variant writes a value behind a Go interface under the name of its type.
func variant(v reflect.Value) []string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && blank(v) {
		return []string{v.Type().Name()}
	}
	return under(v.Type().Name(), v)
}

func fields(v reflect.Value) []string {
	var out []string
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !blank(v.Field(i)) {
			out = append(out, under(f.Name, v.Field(i))...)
		}
	}
	if out == nil {
		return []string{"{}"}
	}
	return out
}

func entries(v reflect.Value) []string {
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
		out = append(out, under(quoted(name), byName[name])...)
	}
	return out
}

func items(v reflect.Value) []string {
	if v.Len() == 0 {
		return []string{"[]"}
	}
	var out []string
	for i := range v.Len() {
		for j, l := range lines(v.Index(i)) {
			lead := "  "
			if j == 0 {
				lead = "- "
			}
			out = append(out, lead+l)
		}
	}
	return out
}

// textOf is the text form of a value that has one.
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

// quoted quotes a text only where YAML would misread it.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, "\n\t\"") || strings.TrimSpace(s) != s ||
		strings.ContainsAny(s[:1], "[]{}*&!|>%@`'#?-,") || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return strconv.Quote(s)
	}
	return s
}
