package wire

import (
	"net/url"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// formNode is a node of a form that is read as a tree. "A.B.1=x" is value x of node "1", a child of "B", a child of "A".
type formNode struct {
	value    string
	hasValue bool // the form has a field for this node
	children map[string]*formNode
}

func (n *formNode) child(name string) *formNode {
	if n.children == nil {
		n.children = map[string]*formNode{}
	}
	c := n.children[name]
	if c == nil {
		c = &formNode{}
		n.children[name] = c
	}
	return c
}

// childNames returns the sorted names of the children.
func (n *formNode) childNames() []string { return store.SortedKeys(n.children) }

// parseForm returns the root of the tree of a form, without the fields Action and Version.
func parseForm(r Request) (*formNode, *store.Error) {
	values := r.Form
	if values == nil {
		var err error
		if values, err = url.ParseQuery(string(r.Body)); err != nil {
			return nil, store.Errorf(store.UnprovenSource, "MalformedQueryString", "The query string is malformed: %v", err)
		}
	}
	root := &formNode{}
	for key, list := range values {
		if key == "Action" || key == "Version" {
			continue
		}
		at := root
		for part := range strings.SplitSeq(key, ".") {
			at = at.child(part)
		}
		at.value, at.hasValue = list[len(list)-1], true
	}
	return root, nil
}

// formDialect has the properties in which forms of the protocols awsQuery and ec2Query differ.
type formDialect struct {
	// names has the names of members in requests.
	names *wireNames
	// wrapper is the name between the name of a list and the index of an item, or "" if there is none.
	wrapper string
}

func (d formDialect) decodeStruct(n *formNode, v reflect.Value, path string) *store.Error {
	fields := d.names.describeStruct(v.Type()).byName
	for _, name := range n.childNames() {
		i, ok := fields[name]
		if !ok {
			return unknownParameterError(path + name)
		}
		if err := d.decode(n.children[name], v.Field(i), path+name); err != nil {
			return err
		}
	}
	return nil
}

func (d formDialect) decode(n *formNode, v reflect.Value, path string) *store.Error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*time.Time]() {
			t, err := time.Parse(time.RFC3339, n.value)
			if err != nil {
				return malformedParameterError(path, n.value, "a timestamp")
			}
			v.Set(reflect.ValueOf(&t))
			return nil
		}
		p := reflect.New(v.Type().Elem())
		if err := d.decode(n, p.Elem(), path); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		if n.hasValue && n.value != "" {
			return malformedParameterError(path, n.value, "a structure")
		}
		return d.decodeStruct(n, v, path+".")
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(n.value))
			return nil
		}
		return d.decodeList(n, v, path)
	case reflect.Map:
		return d.decodeMap(n, v, path)
	}
	if len(n.children) > 0 {
		return unknownParameterError(path + "." + n.childNames()[0])
	}
	return decodeScalar(n.value, v, path)
}

func (d formDialect) decodeList(n *formNode, v reflect.Value, path string) *store.Error {
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.children)))
	items := n
	if d.wrapper != "" {
		for _, name := range n.childNames() {
			if name != d.wrapper {
				return unknownParameterError(path + "." + name)
			}
		}
		items = n.children[d.wrapper]
		path += "." + d.wrapper
	}
	if items == nil { // "Name=" is an empty list
		return nil
	}
	order, err := itemIndices(items, path)
	if err != nil {
		return err
	}
	for _, index := range order {
		name := strconv.Itoa(index)
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(items.children[name], item, path+"."+name); err != nil {
			return err
		}
		v.Set(reflect.Append(v, item))
	}
	return nil
}

func (d formDialect) decodeMap(n *formNode, v reflect.Value, path string) *store.Error {
	v.Set(reflect.MakeMap(v.Type()))
	entries := n.children["entry"]
	if entries == nil {
		return nil
	}
	order, err := itemIndices(entries, path+".entry")
	if err != nil {
		return err
	}
	for _, index := range order {
		name := strconv.Itoa(index)
		entry := entries.children[name]
		at := path + ".entry." + name
		key, value := entry.children["key"], entry.children["value"]
		if key == nil {
			return store.Errorf(store.EmulatorSource, CodeMalformedParameter, "The map entry %s has no key", at)
		}
		k := reflect.New(v.Type().Key()).Elem()
		k.SetString(key.value)
		item := reflect.New(v.Type().Elem()).Elem()
		if value != nil {
			if err := d.decode(value, item, at+".value"); err != nil {
				return err
			}
		}
		v.SetMapIndex(k, item)
	}
	return nil
}

// itemIndices returns the sorted indices of the items of a list.
func itemIndices(n *formNode, path string) ([]int, *store.Error) {
	var out []int
	for name := range n.children {
		i, err := strconv.Atoi(name)
		if err != nil || i < 1 || strconv.Itoa(i) != name {
			return nil, unknownParameterError(path + "." + name)
		}
		out = append(out, i)
	}
	sort.Ints(out)
	return out, nil
}

func decodeScalar(s string, v reflect.Value, path string) *store.Error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return malformedParameterError(path, s, "a boolean")
		}
		v.SetBool(b)
	case reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return malformedParameterError(path, s, "an integer")
		}
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil {
			return malformedParameterError(path, s, "a number")
		}
		v.SetFloat(f)
	default:
		return store.Errorf(store.EmulatorSource, CodeUnsupportedParameter, "the parameter %s is of a type that this emulator cannot read", path)
	}
	return nil
}
