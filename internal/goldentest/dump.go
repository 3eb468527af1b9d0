package goldentest

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Dump writes a value as indented text that looks like YAML: fields in their order, without those
// that are zero; maps by key; values behind interfaces with the name of their type; values that
// have a text form of their own (String, MarshalText) in that form.
func Dump(v any) string {
	var d dumper
	d.value(reflect.ValueOf(v), 0, "")
	return strings.TrimLeft(d.String(), "\n")
}

type dumper struct{ strings.Builder }

// value writes v after "label" (what stands on the line already, such as "Name:" or "-").
func (d *dumper) value(v reflect.Value, depth int, label string) {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() {
		d.line(depth, label, "null")
		return
	}
	if text, ok := textOf(v); ok {
		d.line(depth, label, quoted(text))
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		d.variant(v.Elem(), depth, label)
	case reflect.Struct:
		d.fields(v, depth, label)
	case reflect.Map:
		d.entries(v, depth, label)
	case reflect.Slice, reflect.Array:
		if v.Len() == 0 {
			d.line(depth, label, "[]")
			return
		}
		d.line(depth, label, "")
		for i := range v.Len() {
			d.value(v.Index(i), depth+1, "-")
		}
	case reflect.String:
		d.line(depth, label, quoted(v.String()))
	default:
		d.line(depth, label, fmt.Sprint(v.Interface()))
	}
}

// variant writes a value behind an interface under the name of its type.
func (d *dumper) variant(v reflect.Value, depth int, label string) {
	if !v.IsValid() {
		d.line(depth, label, "null")
		return
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && v.IsZero() {
		d.line(depth, label, v.Type().Name())
		return
	}
	d.value(v, depth, strings.TrimSpace(label+" "+v.Type().Name()+":"))
}

func (d *dumper) fields(v reflect.Value, depth int, label string) {
	d.line(depth, label, "")
	if label != "" {
		depth++
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || v.Field(i).IsZero() {
			continue
		}
		d.value(v.Field(i), depth, f.Name+":")
	}
}

func (d *dumper) entries(v reflect.Value, depth int, label string) {
	if v.Len() == 0 {
		d.line(depth, label, "{}")
		return
	}
	d.line(depth, label, "")
	keys := map[string]reflect.Value{}
	var names []string
	for _, k := range v.MapKeys() {
		name := fmt.Sprint(k.Interface())
		keys[name] = k
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d.value(v.MapIndex(keys[name]), depth+1, quoted(name)+":")
	}
}

func (d *dumper) line(depth int, label, text string) {
	if label == "" && text == "" {
		return
	}
	d.WriteString(strings.Repeat("  ", depth) + strings.TrimSpace(label+" "+text) + "\n")
}

// textOf is the text form of a value that has one.
func textOf(v reflect.Value) (string, bool) {
	if !v.CanInterface() {
		return "", false
	}
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		return string(b), err == nil
	case fmt.Stringer:
		return x.String(), true
	}
	if v.CanAddr() {
		if x, ok := v.Addr().Interface().(fmt.Stringer); ok && v.Kind() == reflect.Struct {
			return x.String(), true
		}
	}
	return "", false
}

// quoted quotes a text only where it would be misread.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, "\n\t\"") || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}
