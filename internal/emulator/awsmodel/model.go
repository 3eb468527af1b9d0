package awsmodel

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:generate go run ./gen models

//go:embed models/*.json
var files embed.FS

// Protocols of AWS.
const (
	protocolQuery = "query"
	protocolEC2   = "ec2"
	protocolREST  = "rest-xml"
	protocolJSON  = "json"
)

// service is the model of one service.
type service struct {
	protocol   string
	operations map[string]*operation
}

type operation struct {
	method, path  string
	input, output *shape // nil: none
	root          string // of a request in the REST protocol
	wrapper       string // around the members of an answer in the query protocol
	// errors are the codes that the operation lists; none for services that list no errors at all.
	errors map[string]bool
}

// shape is a type of a service.
type shape struct {
	name, kind string
	request    map[string]*member // by the name on the wire
	answer     map[string]*member
	members    []*member
	item, key  *shape
	itemName   string // of a list's items in XML
	enum       map[string]bool
	min, max   *float64
	pattern    *regexp.Regexp
}

type member struct {
	name            string
	request, answer string // names on the wire
	location        string // empty: the body
	required        bool
	shape           *shape
}

// The form of the files.
type (
	fileModel struct {
		Service, Protocol string
		Operations        map[string]fileOperation
		Shapes            map[string]fileShape
	}
	fileOperation struct {
		Method, Path, Root, Wrapper string
		Input, Output               string
		Errors                      []string
	}
	fileShape struct {
		Type     string
		Members  map[string]fileMember
		Required []string
		Enum     []string
		Min, Max *float64
		Pattern  string
		Item     *fileMember
		Key      *fileMember
		Code     string
	}
	fileMember struct {
		Shape, Name, Query, Location string
	}
)

// models reads each model once.
var models = sync.OnceValue(func() map[string]*service {
	entries, err := files.ReadDir("models")
	if err != nil {
		panic(err) // the directory is embedded
	}
	out := map[string]*service{}
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("models", e.Name()))
		if err != nil {
			panic(err)
		}
		var m fileModel
		if err := json.Unmarshal(text, &m); err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
		out[m.Service] = m.service()
	}
	return out
})

func (m fileModel) service() *service {
	shapes := map[string]*shape{}
	for name, f := range m.Shapes {
		shapes[name] = &shape{name: name, kind: f.Type, min: f.Min, max: f.Max, pattern: compile(f.Pattern)}
	}
	for name, f := range m.Shapes {
		m.fill(shapes[name], f, shapes)
	}
	s := &service{protocol: m.Protocol, operations: map[string]*operation{}}
	for name, f := range m.Operations {
		op := &operation{method: f.Method, path: f.Path, root: f.Root, wrapper: f.Wrapper, input: shapes[f.Input], output: shapes[f.Output]}
		if len(f.Errors) > 0 {
			op.errors = map[string]bool{}
		}
		for _, e := range f.Errors {
			op.errors[e] = true
		}
		s.operations[name] = op
	}
	return s
}

func (m fileModel) fill(s *shape, f fileShape, shapes map[string]*shape) {
	if len(f.Enum) > 0 {
		s.enum = map[string]bool{}
	}
	for _, v := range f.Enum {
		s.enum[v] = true
	}
	if f.Item != nil {
		s.item, s.itemName = shapes[f.Item.Shape], f.Item.Name
	}
	if f.Key != nil {
		s.key = shapes[f.Key.Shape]
	}
	required := map[string]bool{}
	for _, name := range f.Required {
		required[name] = true
	}
	s.request, s.answer = map[string]*member{}, map[string]*member{}
	for name, f := range f.Members {
		x := &member{name: name, request: m.requestName(name, f), answer: name, location: f.Location, required: required[name], shape: shapes[f.Shape]}
		if f.Name != "" && m.Protocol != protocolJSON {
			x.answer = f.Name
		}
		s.members = append(s.members, x)
		s.request[x.request], s.answer[x.answer] = x, x
	}
}

// requestName returns what a member is called in a request. EC2 has names of its own there, and begins all with a
// capital.
func (m fileModel) requestName(name string, f fileMember) string {
	switch {
	case m.Protocol == protocolJSON:
		return name
	case f.Query != "":
		return f.Query
	case f.Name == "":
		return name
	case m.Protocol == protocolEC2:
		return strings.ToUpper(f.Name[:1]) + f.Name[1:]
	}
	return f.Name
}

var (
	unicodeEscape = regexp.MustCompile(`\\u([0-9A-F]{4})`)
	// lookahead has the labels of a domain name, as Go cannot look ahead.
	lookahead = strings.NewReplacer(
		`(?!-)[A-Za-z0-9-]{0,62}[A-Za-z0-9]`, `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`,
		`(?!-)[A-Za-z0-9-]{1,62}[A-Za-z0-9]`, `[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]`,
	)
)

// compile makes a pattern of AWS's one of Go's that matches the whole value. It panics on one that Go does not have, so
// that a new model is noticed.
func compile(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	pattern = lookahead.Replace(unicodeEscape.ReplaceAllString(pattern, `\x{$1}`))
	return regexp.MustCompile(`\A(?:` + pattern + `)\z`)
}

// Constant reports whether an enumeration of any service has a value: it is AWS's word, not a name that a user gave.
func Constant(value string) bool { return constants()[value] }

var constants = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, s := range models() {
		for _, op := range s.operations {
			for _, root := range []*shape{op.input, op.output} {
				root.constants(out, map[*shape]bool{})
			}
		}
	}
	return out
})

func (s *shape) constants(out map[string]bool, seen map[*shape]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	for v := range s.enum {
		out[v] = true
	}
	s.item.constants(out, seen)
	s.key.constants(out, seen)
	for _, m := range s.members {
		m.shape.constants(out, seen)
	}
}
