package awsmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// node is a value in a message of any protocol, before it is compared with a shape. text is empty if the value has children.
type node struct {
	name     string
	text     string
	kind     jsonKind
	children []node
}

// jsonKind is the JSON type of a value. Values of other protocols are untyped.
type jsonKind uint8

const (
	untyped jsonKind = iota
	jsonText
	jsonNumber
	jsonBool
	jsonNull
	jsonList
	jsonObject
)

func (n *node) child(name string) *node {
	for i := range n.children {
		if n.children[i].name == name {
			return &n.children[i]
		}
	}
	return nil
}

// formTree converts a form to a tree: "A.1.B=x" becomes node "B" with text "x" in node "1" in node "A".
func formTree(form url.Values) *node {
	root := &node{}
	// In sorted order, all keys below one node are adjacent, because no character in a name sorts before the dot.
	for _, key := range store.SortedKeys(form) {
		if key == "Action" || key == "Version" {
			continue
		}
		at := root
		for part := range strings.SplitSeq(key, ".") {
			if last := len(at.children) - 1; last < 0 || at.children[last].name != part {
				at.children = append(at.children, node{name: part})
			}
			at = &at.children[len(at.children)-1]
		}
		at.text = form.Get(key)
	}
	return root
}

// sortNumberedItems sorts the items of a list in a form by number. It returns an error if the numbers are not 1, 2, 3 and so
// on.
func (n *node) sortNumberedItems() error {
	for i := range n.children {
		if _, err := strconv.ParseUint(n.children[i].name, 10, 31); err != nil {
			return fmt.Errorf("%q is not the number of an item", n.children[i].name)
		}
	}
	slices.SortFunc(n.children, func(a, b node) int {
		x, _ := strconv.Atoi(a.name) // the names are numbers
		y, _ := strconv.Atoi(b.name)
		return x - y
	})
	for i := range n.children {
		if n.children[i].name != strconv.Itoa(i+1) {
			return fmt.Errorf("item %d of the list is numbered %q", i+1, n.children[i].name)
		}
	}
	return nil
}

func jsonTree(body []byte) (*node, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return &node{kind: jsonObject}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	root := nodeFromJSON("", v)
	if root.kind != jsonObject {
		return nil, errors.New("not an object")
	}
	return &root, nil
}

func nodeFromJSON(name string, v any) node {
	n := node{name: name}
	switch v := v.(type) {
	case nil:
		n.kind = jsonNull
	case string:
		n.kind, n.text = jsonText, v
	case json.Number:
		n.kind, n.text = jsonNumber, v.String()
	case bool:
		n.kind, n.text = jsonBool, strconv.FormatBool(v)
	case []any:
		n.kind = jsonList
		for _, item := range v {
			n.children = append(n.children, nodeFromJSON("", item))
		}
	case map[string]any:
		n.kind = jsonObject
		for _, key := range store.SortedKeys(v) {
			n.children = append(n.children, nodeFromJSON(key, v[key]))
		}
	}
	return n
}

// xmlTree parses an XML document that uses only the XML features of AWS's protocols. It does not use encoding/xml, which
// takes several times as long as the whole call.
func xmlTree(body []byte) (*node, error) {
	r := xmlReader{remaining: string(body)}
	if strings.HasPrefix(r.remaining, "<?") {
		_, after, ok := strings.Cut(r.remaining, "?>")
		if !ok {
			return nil, errors.New("the declaration has no end")
		}
		r.remaining = after
	}
	r.remaining = strings.TrimSpace(r.remaining)
	n, err := r.readElement()
	if err != nil {
		return nil, err
	}
	if r.remaining = strings.TrimSpace(r.remaining); r.remaining != "" {
		return nil, fmt.Errorf("%q follows the document", r.remaining)
	}
	return &n, nil
}

type xmlReader struct{ remaining string }

// readElement parses the element at the start of r.remaining, and removes it from r.remaining.
func (r *xmlReader) readElement() (node, error) {
	var n node
	tag, after, ok := strings.Cut(r.remaining, ">")
	if !ok || !strings.HasPrefix(tag, "<") {
		return n, fmt.Errorf("no element begins at %.40q", r.remaining)
	}
	tag, empty := strings.CutSuffix(tag[1:], "/")
	n.name, _, _ = strings.Cut(tag, " ") // the only attributes are namespaces
	if r.remaining = after; empty {
		return n, nil
	}
	for {
		i := strings.IndexByte(r.remaining, '<')
		if i < 0 {
			return n, fmt.Errorf("element %q has no end", n.name)
		}
		text := r.remaining[:i]
		r.remaining = r.remaining[i:]
		if after, ok := strings.CutPrefix(r.remaining, "</"); ok {
			name, after, _ := strings.Cut(after, ">")
			if name != n.name {
				return n, fmt.Errorf("element %q ends as %q", n.name, name)
			}
			r.remaining = after
			if len(n.children) == 0 {
				n.text = xmlEntities.Replace(text)
			}
			return n, nil
		}
		if strings.TrimSpace(text) != "" {
			return n, fmt.Errorf("element %q has text beside elements", n.name)
		}
		kid, err := r.readElement()
		if err != nil {
			return n, err
		}
		n.children = append(n.children, kid)
	}
}

var xmlEntities = strings.NewReplacer(
	"&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&apos;", "'",
	"&#34;", `"`, "&#39;", "'", "&#x9;", "\t", "&#xA;", "\n", "&#xD;", "\r",
)
