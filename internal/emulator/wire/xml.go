package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"reflect"
	"strconv"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// document is an XML document in the form of AWS: an element for each member
// that is not absent, and one element for each item of a list.
type document struct {
	bytes.Buffer
	// names has the names of members in a response.
	names *naming
	// items returns the element name of the items of a list.
	items func(list string) string
}

// constantName returns a function for document.items with the same name for the items of all lists.
func constantName(item string) func(string) string { return func(string) string { return item } }

func (d *document) open(name string) {
	d.WriteByte('<')
	d.WriteString(name)
	d.WriteByte('>')
}

func (d *document) close(name string) {
	d.WriteString("</")
	d.WriteString(name)
	d.WriteByte('>')
}

func (d *document) text(name, value string) {
	d.open(name)
	if plain(value) {
		d.WriteString(value)
	} else {
		_ = xml.EscapeText(d, []byte(value)) // writes to a buffer never fail
	}
	d.close(name)
}

// plain reports whether a text has no characters that need an escape, as nearly all texts.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\'', c == '&', c == '<', c == '>':
			return false
		}
	}
	return true
}

// members writes the members of a structure, without an element around them.
// It reports whether the structure has any members at all.
func (d *document) members(v reflect.Value) (any bool, err error) {
	all := d.names.of(v.Type()).members
	for _, m := range all {
		if err := d.element(m.name, v.Field(m.index)); err != nil {
			return true, err
		}
	}
	return len(all) > 0, nil
}

func (d *document) element(name string, v reflect.Value) error {
	if v.Type() == reflect.TypeFor[time.Time]() {
		d.text(name, timestamp(v.Interface().(time.Time)))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return d.element(name, v.Elem())
	case reflect.Struct:
		d.open(name)
		defer d.close(name)
		_, err := d.members(v)
		return err
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		if b, ok := v.Interface().([]byte); ok {
			d.text(name, base64.StdEncoding.EncodeToString(b))
			return nil
		}
		d.open(name)
		defer d.close(name)
		for i := range v.Len() {
			if err := d.listItem(d.items(name), v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		return d.mapping(name, v)
	case reflect.String:
		// An enumeration without value is absent.
		if v.String() != "" || v.Type() == reflect.TypeFor[string]() {
			d.text(name, v.String())
		}
	case reflect.Bool:
		d.text(name, strconv.FormatBool(v.Bool()))
	case reflect.Int32, reflect.Int64:
		d.text(name, strconv.FormatInt(v.Int(), 10))
	case reflect.Float32, reflect.Float64:
		d.text(name, strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	default:
		return encodeError(v.Interface())
	}
	return nil
}

func (d *document) listItem(name string, v reflect.Value) error {
	if v.Kind() == reflect.String {
		d.text(name, v.String()) // an empty string is an item too
		return nil
	}
	return d.element(name, v)
}

func (d *document) mapping(name string, v reflect.Value) error {
	byKey := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		byKey[k.String()] = v.MapIndex(k)
	}
	d.open(name)
	defer d.close(name)
	for _, k := range store.SortedKeys(byKey) {
		d.open("entry")
		d.text("key", k)
		if err := d.element("value", byKey[k]); err != nil {
			return err
		}
		d.close("entry")
	}
	return nil
}
