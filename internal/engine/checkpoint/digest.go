package checkpoint

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Digest is a hash of values: equal values have equal digests in every process. Everything that
// can be reached counts, texts that hide themselves from encoders included. Times, functions and
// channels have no place in a wish; a value that holds one panics.
func Digest(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		write(h, reflect.ValueOf(v))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:digestBytes])
}

// digestBytes is enough to tell wishes apart, and small enough for thousands of them in one object.
const digestBytes = 16

// write writes a value in a form that no other value has: lengths stand before contents, names of
// types before what an interface holds, and maps are sorted.
func write(h hash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		put(h, "nil")
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		put(h, fmt.Sprint(scalar(v)))
	case reflect.String:
		put(h, v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			put(h, "nil")
			return
		}
		put(h, v.Elem().Type().String())
		write(h, v.Elem())
	case reflect.Slice, reflect.Array:
		put(h, fmt.Sprintf("list of %d", v.Len()))
		for i := range v.Len() {
			write(h, v.Index(i))
		}
	case reflect.Map:
		writeMap(h, v)
	case reflect.Struct:
		put(h, v.Type().String())
		for i := range v.NumField() {
			put(h, v.Type().Field(i).Name)
			write(h, v.Field(i))
		}
	default:
		panic(fmt.Sprintf("a %s cannot be hashed", v.Type()))
	}
}

// scalar reads a value without asking how it likes to be printed.
func scalar(v reflect.Value) any {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	}
	return v.Bool()
}

func writeMap(h hash.Hash, v reflect.Value) {
	type entry struct{ key, value string }
	var entries []entry
	part := func(v reflect.Value) string {
		sub := sha256.New()
		write(sub, v)
		return string(sub.Sum(nil))
	}
	for it := v.MapRange(); it.Next(); {
		entries = append(entries, entry{part(it.Key()), part(it.Value())})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	put(h, fmt.Sprintf("map of %d", len(entries)))
	for _, e := range entries {
		put(h, e.key)
		put(h, e.value)
	}
}

func put(h hash.Hash, s string) {
	_, _ = io.WriteString(h, fmt.Sprintf("%d:%s", len(s), s)) // a hash takes everything
}
