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

// Digest returns a hash of values. Equal values have the same digest in every process and version. The hash includes all
// fields and elements, also unexported fields and types such as model.Secret that do not encode their text. Digest panics
// for functions and channels.
func Digest(values ...any) string {
	e := encoder{hash: sha256.New()}
	for _, v := range values {
		e.writeValue(reflect.ValueOf(v))
	}
	e.hash.Write(e.buf)
	return base64.RawURLEncoding.EncodeToString(e.hash.Sum(nil)[:digestBytes])
}

// digestBytes is the length of a digest in bytes. It is long enough to distinguish desired states, and short enough that
// thousands of digests fit into one Secret.
const digestBytes = 16

// encoder writes values so that different values have different encodings: the length of a text before the text, the type of
// an interface or pointer before its value, and the entries of a map in a fixed order. It buffers its output, because one
// large write to the hash is much faster than many small ones.
type encoder struct {
	hash     hash.Hash
	buf      []byte
	openMaps int // number of maps that are being written; their output must remain in buf
}

// bufferBytes is the length from which the content of buf is written to the hash.
const bufferBytes = 4096

// writeValue writes a value and all values that it contains.
func (e *encoder) writeValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		e.writeText("nil")
	case reflect.Bool:
		e.writeText(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.writeText(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.writeText(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		e.writeText(fmt.Sprint(v.Float()))
	case reflect.String:
		e.writeText(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			e.writeText("nil")
			return
		}
		e.writeRaw(namesOf(v.Elem().Type()).name)
		e.writeValue(v.Elem())
	case reflect.Slice, reflect.Array:
		e.writeText("list of " + strconv.Itoa(v.Len()))
		for i := range v.Len() {
			e.writeValue(v.Index(i))
		}
	case reflect.Map:
		e.writeMapEntries(v)
	case reflect.Struct:
		names := namesOf(v.Type())
		e.writeRaw(names.name)
		for i, field := range names.fields {
			e.writeRaw(field)
			e.writeValue(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("a %s cannot be hashed", v.Type()))
	}
}

// writeMapEntries writes the hashes of the keys and values of a map, in ascending order of the hashes of the keys.
func (e *encoder) writeMapEntries(v reflect.Value) {
	type entry struct{ key, value [sha256.Size]byte }
	e.openMaps++
	hashOf := func(v reflect.Value) [sha256.Size]byte {
		begin := len(e.buf)
		e.writeValue(v)
		sum := sha256.Sum256(e.buf[begin:])
		e.buf = e.buf[:begin]
		return sum
	}
	entries := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		entries = append(entries, entry{hashOf(it.Key()), hashOf(it.Value())})
	}
	e.openMaps--
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key[:], b.key[:]) })
	e.writeText("map of " + strconv.Itoa(len(entries)))
	for i := range entries {
		e.writeText(string(entries[i].key[:]))
		e.writeText(string(entries[i].value[:]))
	}
}

// writeText writes the length of a text, and the text.
func (e *encoder) writeText(s string) {
	e.buf = appendText(e.buf, s)
	e.flush()
}

// writeRaw writes a text that already begins with its length (appendText).
func (e *encoder) writeRaw(b []byte) {
	e.buf = append(e.buf, b...)
	e.flush()
}

// flush writes buf to the hash if it is long enough and no map is being written.
func (e *encoder) flush() {
	if len(e.buf) >= bufferBytes && e.openMaps == 0 {
		e.hash.Write(e.buf)
		e.buf = e.buf[:0]
	}
}

// appendText appends the length of a text, and the text.
func appendText(to []byte, s string) []byte {
	to = strconv.AppendInt(to, int64(len(s)), 10)
	return append(append(to, ':'), s...)
}

// typeNames has the name of a type and the names of its fields, each with its length (appendText).
type typeNames struct {
	name   []byte
	fields [][]byte
}

// namesByType caches the typeNames of each type, because it is slow to compute them.
var namesByType sync.Map

// namesOf returns the typeNames of a type. Only structs have fields.
func namesOf(t reflect.Type) *typeNames {
	if known, ok := namesByType.Load(t); ok {
		return known.(*typeNames)
	}
	f := &typeNames{name: appendText(nil, t.String())}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			f.fields = append(f.fields, appendText(nil, t.Field(i).Name))
		}
	}
	known, _ := namesByType.LoadOrStore(t, f)
	return known.(*typeNames)
}
