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

// xmlDocument is an XML document in the format of AWS. It has an element for each member that is not absent, and an element
// for each item of a list.
type xmlDocument struct {
	bytes.Buffer
	// names has the names of members in responses.
	names *wireNames
	// itemName returns the element name of the items of a list. list is the name of the list.
	itemName func(list string) string
}

// constantName returns a function for xmlDocument.itemName that returns the same name for every list.
func constantName(item string) func(string) string { return func(string) string { return item } }

func (d *xmlDocument) openElement(name string) {
	d.WriteByte('<')
	d.WriteString(name)
	d.WriteByte('>')
}

func (d *xmlDocument) closeElement(name string) {
	d.WriteString("</")
	d.WriteString(name)
	d.WriteByte('>')
}

func (d *xmlDocument) writeText(name, value string) {
	d.openElement(name)
	if isPlainText(value) {
		d.WriteString(value)
	} else {
		_ = xml.EscapeText(d, []byte(value)) // writes to a buffer never fail
	}
	d.closeElement(name)
}

// isPlainText reports whether a text has only printable ASCII characters that need no escape, which is true of most texts.
func isPlainText(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\'', c == '&', c == '<', c == '>':
			return false
		}
	}
	return true
}

// writeMembers writes an element for each member of a structure, without an element around them. It reports whether the type
// of the structure has members.
func (d *xmlDocument) writeMembers(v reflect.Value) (any bool, err error) {
	all := d.names.describeStruct(v.Type()).members
	for _, m := range all {
		if err := d.writeElement(m.name, v.Field(m.fieldIndex)); err != nil {
			return true, err
		}
	}
	return len(all) > 0, nil
}

func (d *xmlDocument) writeElement(name string, v reflect.Value) error {
	if v.Type() == reflect.TypeFor[time.Time]() {
		d.writeText(name, formatTimestamp(v.Interface().(time.Time)))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return d.writeElement(name, v.Elem())
	case reflect.Struct:
		d.openElement(name)
		defer d.closeElement(name)
		_, err := d.writeMembers(v)
		return err
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		if b, ok := v.Interface().([]byte); ok {
			d.writeText(name, base64.StdEncoding.EncodeToString(b))
			return nil
		}
		d.openElement(name)
		defer d.closeElement(name)
		for i := range v.Len() {
			if err := d.writeListItem(d.itemName(name), v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		return d.writeMap(name, v)
	case reflect.String:
		// An empty string of an enumeration type is an absent value.
		if v.String() != "" || v.Type() == reflect.TypeFor[string]() {
			d.writeText(name, v.String())
		}
	case reflect.Bool:
		d.writeText(name, strconv.FormatBool(v.Bool()))
	case reflect.Int32, reflect.Int64:
		d.writeText(name, strconv.FormatInt(v.Int(), 10))
	case reflect.Float32, reflect.Float64:
		d.writeText(name, strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	default:
		return unsupportedTypeError(v.Interface())
	}
	return nil
}

func (d *xmlDocument) writeListItem(name string, v reflect.Value) error {
	if v.Kind() == reflect.String {
		d.writeText(name, v.String()) // an empty string is an item too
		return nil
	}
	return d.writeElement(name, v)
}

func (d *xmlDocument) writeMap(name string, v reflect.Value) error {
	byKey := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		byKey[k.String()] = v.MapIndex(k)
	}
	d.openElement(name)
	defer d.closeElement(name)
	for _, k := range store.SortedKeys(byKey) {
		d.openElement("entry")
		d.writeText("key", k)
		if err := d.writeElement("value", byKey[k]); err != nil {
			return err
		}
		d.closeElement("entry")
	}
	return nil
}
