package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// Digest returns a hash of values: equal values have equal digests in every process. Everything that
// can be reached counts, texts that hide themselves from encoders included. Times, functions and
// channels have no place in a desired state; a value that holds one panics.
func Digest(values ...any) string {
	e := encoder{hash: sha256.New()}
	for _, v := range values {
		e.value(reflect.ValueOf(v))
	}
	e.hash.Write(e.buf)
	return base64.RawURLEncoding.EncodeToString(e.hash.Sum(nil)[:digestBytes])
}

// digestBytes is enough to distinguish desired states, and small enough for thousands of them in one object.
const digestBytes = 16

// encoder writes values in a form that no other values have: lengths stand before contents, names of
// types before what an interface holds, and maps are sorted. It gathers what it hashes, as one large
// write costs much less than many small ones.
type encoder struct {
	hash hash.Hash
	buf  []byte
	maps int // that are being written: what is theirs has to stay in buf
}

const bufferBytes = 4096

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		e.text("nil")
	case reflect.Bool:
		e.text(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.text(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.text(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		e.text(fmt.Sprint(v.Float()))
	case reflect.String:
		e.text(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			e.text("nil")
			return
		}
		e.raw(formOf(v.Elem().Type()).name)
		e.value(v.Elem())
	case reflect.Slice, reflect.Array:
		e.text("list of " + strconv.Itoa(v.Len()))
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Map:
		e.mapping(v)
	case reflect.Struct:
		form := formOf(v.Type())
		e.raw(form.name)
		for i, field := range form.fields {
			e.raw(field)
			e.value(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("a %s cannot be hashed", v.Type()))
	}
}

// mapping writes the entries of a map as hashes, in their order.
func (e *encoder) mapping(v reflect.Value) {
	type entry struct{ key, value [sha256.Size]byte }
	e.maps++
	part := func(v reflect.Value) [sha256.Size]byte {
		begin := len(e.buf)
		e.value(v)
		sum := sha256.Sum256(e.buf[begin:])
		e.buf = e.buf[:begin]
		return sum
	}
	entries := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		entries = append(entries, entry{part(it.Key()), part(it.Value())})
	}
	e.maps--
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key[:], b.key[:]) })
	e.text("map of " + strconv.Itoa(len(entries)))
	for i := range entries {
		e.text(string(entries[i].key[:]))
		e.text(string(entries[i].value[:]))
	}
}

// text writes a text after its length.
func (e *encoder) text(s string) {
	e.buf = appendText(e.buf, s)
	e.flush()
}

// raw writes what begins with its length already.
func (e *encoder) raw(b []byte) {
	e.buf = append(e.buf, b...)
	e.flush()
}

// flush hashes what is gathered, once that is much.
func (e *encoder) flush() {
	if len(e.buf) >= bufferBytes && e.maps == 0 {
		e.hash.Write(e.buf)
		e.buf = e.buf[:0]
	}
}

func appendText(to []byte, s string) []byte {
	to = strconv.AppendInt(to, int64(len(s)), 10)
	return append(append(to, ':'), s...)
}

// form is how the names of a type and of its fields are written.
type form struct {
	name   []byte
	fields [][]byte
}

// forms holds the form of each type, as finding it out costs more than writing a value.
var forms sync.Map

func formOf(t reflect.Type) *form {
	if known, ok := forms.Load(t); ok {
		return known.(*form)
	}
	f := &form{name: appendText(nil, t.String())}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			f.fields = append(f.fields, appendText(nil, t.Field(i).Name))
		}
	}
	known, _ := forms.LoadOrStore(t, f)
	return known.(*form)
}
