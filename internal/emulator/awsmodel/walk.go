package awsmodel

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// messageChecker compares one request or response with its shape.
type messageChecker struct {
	protocol string
	isAnswer bool
	path     []string
	report   reportFunc
	// skipsValueChecks turns off the checks of enumerations, lengths, ranges and patterns. It is set for a refused request.
	skipsValueChecks bool
}

// isForm reports whether the message is a request in form encoding.
func (w *messageChecker) isForm() bool {
	return !w.isAnswer && (w.protocol == protocolQuery || w.protocol == protocolEC2)
}

func (w *messageChecker) reportDeviation(value, format string, args ...any) {
	w.report(strings.Join(w.path, "."), value, fmt.Sprintf(format, args...))
}

// reportInvalid reports a value of the right type that the model does not allow. For a refused request, it reports nothing.
func (w *messageChecker) reportInvalid(value, format string, args ...any) {
	if !w.skipsValueChecks {
		w.reportDeviation(value, format, args...)
	}
}

// checkChild compares a member or an item of the current value with shape s. name is added to the reported path.
func (w *messageChecker) checkChild(name string, s *shape, n *node) {
	w.path = append(w.path, name)
	w.checkValue(s, n)
	w.path = w.path[:len(w.path)-1]
}

func (w *messageChecker) checkValue(s *shape, n *node) {
	switch s.kind {
	case "structure":
		w.checkStructure(s, n)
	case "list":
		w.checkList(s, n)
	case "map":
		w.checkMap(s, n)
	default:
		if len(n.children) > 0 {
			w.reportDeviation(n.children[0].name, "a value of type %s has no members", s.kind)
			return
		}
		w.checkScalar(s, n)
	}
}

// checkKind reports whether node n has the JSON type want. If it has another type, checkKind also reports a deviation. It
// accepts all values of other protocols, because they are untyped.
func (w *messageChecker) checkKind(s *shape, n *node, want jsonKind) bool {
	if n.kind == untyped || n.kind == want {
		return true
	}
	w.reportDeviation(n.text, "not a %s", s.kind)
	return false
}

func (w *messageChecker) checkStructure(s *shape, n *node) {
	if !w.checkKind(s, n, jsonObject) {
		return
	}
	if n.text != "" {
		w.reportDeviation(n.text, "text in place of members")
	}
	names := s.requestMembers
	if w.isAnswer {
		names = s.answerMembers
	}
	for i := range n.children {
		kid := &n.children[i]
		m := names[kid.name]
		switch {
		case m == nil || m.location != "":
			w.reportDeviation(kid.name, "not a member of %s", s.name)
		case kid.kind != jsonNull:
			w.checkChild(m.name, m.shape, kid)
		}
	}
	for _, m := range s.members {
		if !m.required || m.location != "" {
			continue
		}
		name := m.requestName
		if w.isAnswer {
			name = m.answerName
		}
		if kid := n.child(name); kid == nil || kid.kind == jsonNull {
			w.reportDeviation(m.name, "a required member of %s is missing", s.name)
		}
	}
}

// checkList compares the items of a list with their shape. In a form, items are numbered. In XML, all items have the same
// name.
func (w *messageChecker) checkList(s *shape, n *node) {
	if !w.checkKind(s, n, jsonList) {
		return
	}
	if n.text != "" {
		w.reportDeviation(n.text, "text in place of items")
	}
	switch {
	case w.isForm():
		if w.protocol == protocolQuery && len(n.children) > 0 {
			if n = w.onlyChild(s, n, "member"); n == nil {
				return
			}
		}
		if err := n.sortNumberedItems(); err != nil {
			w.reportDeviation("", "%v", err)
			return
		}
	case w.protocol != protocolJSON:
		want := s.itemName
		if want == "" {
			want = "member"
		}
		for i := range n.children {
			if n.children[i].name != want {
				w.reportDeviation(n.children[i].name, "not a list item; the items are named %s", want)
				return
			}
		}
	}
	w.checkSize(s, len(n.children), "items")
	for i := range n.children {
		w.checkChild(strconv.Itoa(i+1), s.item, &n.children[i])
	}
}

// onlyChild returns the only child of n if it has this name. Otherwise it reports a deviation and returns nil. n has at
// least one child.
func (w *messageChecker) onlyChild(s *shape, n *node, name string) *node {
	if len(n.children) != 1 || n.children[0].name != name {
		w.reportDeviation(n.children[0].name, "not %q, the only member that a %s has in a form", name, s.kind)
		return nil
	}
	return &n.children[0]
}

func (w *messageChecker) checkMap(s *shape, n *node) {
	if !w.checkKind(s, n, jsonObject) {
		return
	}
	if n.kind == jsonObject {
		w.checkSize(s, len(n.children), "entries")
		for i := range n.children {
			w.checkChild(n.children[i].name, s.key, &node{kind: jsonText, text: n.children[i].name})
			w.checkChild(n.children[i].name, s.item, &n.children[i])
		}
		return
	}
	entries := n.children
	if w.isForm() && len(n.children) > 0 {
		entry := w.onlyChild(s, n, "entry")
		if entry == nil {
			return
		}
		if err := entry.sortNumberedItems(); err != nil {
			w.reportDeviation("", "%v", err)
			return
		}
		entries = entry.children
	}
	w.checkSize(s, len(entries), "entries")
	for i := range entries {
		key, value := entries[i].child("key"), entries[i].child("value")
		if key == nil || value == nil || len(entries[i].children) != 2 || !w.isForm() && entries[i].name != "entry" {
			w.reportDeviation(entries[i].name, "not a map entry with a key and a value")
			return
		}
		w.checkChild(key.text, s.key, key)
		w.checkChild(key.text, s.item, value)
	}
}

func (w *messageChecker) checkScalar(s *shape, n *node) {
	switch s.kind {
	case "string":
		if w.checkKind(s, n, jsonText) {
			w.checkText(s, n.text)
		}
	case "blob":
		raw, err := base64.StdEncoding.DecodeString(n.text)
		if w.isForm() {
			raw, err = []byte(n.text), nil // the emulator's clients do not encode blobs in forms
		}
		if err != nil || n.kind != untyped && n.kind != jsonText {
			w.reportDeviation(n.text, "not base64")
			return
		}
		w.checkSize(s, len(raw), "bytes")
	case "boolean":
		if n.kind != untyped && n.kind != jsonBool || n.text != "true" && n.text != "false" {
			w.reportDeviation(n.text, "not a boolean")
		}
	case "timestamp":
		var err error
		if n.kind == untyped {
			_, err = time.Parse(time.RFC3339, n.text)
		} else {
			_, err = strconv.ParseFloat(n.text, 64)
		}
		if err != nil || n.kind != untyped && n.kind != jsonNumber {
			w.reportDeviation(n.text, "not a timestamp")
		}
	default:
		w.checkNumber(s, n)
	}
}

func (w *messageChecker) checkNumber(s *shape, n *node) {
	var err error
	f := 0.0
	switch s.kind {
	case "integer", "long":
		var i int64
		i, err = strconv.ParseInt(n.text, 10, 64)
		f = float64(i)
	default:
		f, err = strconv.ParseFloat(n.text, 64)
	}
	switch {
	case err != nil || n.kind != untyped && n.kind != jsonNumber:
		w.reportDeviation(n.text, "not a number of type %s", s.kind)
	case s.min != nil && f < *s.min:
		w.reportInvalid(n.text, "less than %v", *s.min)
	case s.max != nil && f > *s.max:
		w.reportInvalid(n.text, "more than %v", *s.max)
	}
}

func (w *messageChecker) checkText(s *shape, text string) {
	if s.enum != nil && !s.enum[text] {
		w.reportInvalid(text, "not a value of %s", s.name)
	}
	n := utf8.RuneCountInString(text)
	if s.min != nil && float64(n) < *s.min || s.max != nil && float64(n) > *s.max {
		w.reportInvalid(text, "%d characters, not %s", n, s.bounds())
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		w.reportInvalid(text, "does not match the pattern of %s, %s", s.name, s.pattern)
	}
}

// checkSize compares the length n of a value with the bounds of shape s. parts is the unit of n in messages, such as
// "items".
func (w *messageChecker) checkSize(s *shape, n int, parts string) {
	if s.min != nil && float64(n) < *s.min || s.max != nil && float64(n) > *s.max {
		w.reportInvalid("", "%d %s, not %s", n, parts, s.bounds())
	}
}

func (s *shape) bounds() string {
	switch {
	case s.max == nil:
		return fmt.Sprintf("at least %v", *s.min)
	case s.min == nil:
		return fmt.Sprintf("at most %v", *s.max)
	}
	return fmt.Sprintf("%v to %v", *s.min, *s.max)
}
