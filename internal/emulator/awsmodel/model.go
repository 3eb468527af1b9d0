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
var modelFiles embed.FS

// Protocols of AWS services.
const (
	protocolQuery = "query"
	protocolEC2   = "ec2"
	protocolREST  = "rest-xml"
	protocolJSON  = "json"
)

// service is the API model of one AWS service.
type service struct {
	protocol   string
	operations map[string]*operation
}

type operation struct {
	method, path  string
	input, output *shape // nil if there are no members
	root          string // name of the root element of a request in the REST protocol
	wrapper       string // name of the element around the members of an answer in the query protocol
	// errors contains the error codes that the model lists for the operation. It is nil if the model lists none.
	errors map[string]bool
}

// shape is a data type in the model of a service.
type shape struct {
	name, kind     string
	requestMembers map[string]*member // by name in requests
	answerMembers  map[string]*member // by name in answers
	members        []*member
	item, key      *shape // item: shape of list items or map values; key: shape of map keys
	itemName       string // name of the items of a list in XML
	enum           map[string]bool
	min, max       *float64
	pattern        *regexp.Regexp
}

type member struct {
	name                    string
	requestName, answerName string // names on the wire
	location                string // "uri", "querystring" or "header"; empty for the body
	required                bool
	shape                   *shape
}

// The JSON format of the files in the directory models.
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

// models returns the API models by the signing name of the service. It parses the files once.
var models = sync.OnceValue(func() map[string]*service {
	entries, err := modelFiles.ReadDir("models")
	if err != nil {
		panic(err) // the directory is embedded
	}
	out := map[string]*service{}
	for _, e := range entries {
		text, err := modelFiles.ReadFile(path.Join("models", e.Name()))
		if err != nil {
			panic(err)
		}
		var m fileModel
		if err := json.Unmarshal(text, &m); err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
		out[m.Service] = m.newService()
	}
	return out
})

func (m fileModel) newService() *service {
	shapes := map[string]*shape{}
	for name, f := range m.Shapes {
		shapes[name] = &shape{name: name, kind: f.Type, min: f.Min, max: f.Max, pattern: compilePattern(f.Pattern)}
	}
	for name, f := range m.Shapes {
		m.fillShape(shapes[name], f, shapes)
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

func (m fileModel) fillShape(s *shape, f fileShape, shapes map[string]*shape) {
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
	s.requestMembers, s.answerMembers = map[string]*member{}, map[string]*member{}
	for name, f := range f.Members {
		x := &member{name: name, requestName: m.requestName(name, f), answerName: name, location: f.Location, required: required[name], shape: shapes[f.Shape]}
		if f.Name != "" && m.Protocol != protocolJSON {
			x.answerName = f.Name
		}
		s.members = append(s.members, x)
		s.requestMembers[x.requestName], s.answerMembers[x.answerName] = x, x
	}
}

// requestName returns the name of a member in requests. In EC2 it can differ from the name in responses; it then begins with
// a capital letter.
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
	// lookaheadReplacer replaces lookahead assertions in AWS's patterns of domain names, because Go does not support
	// lookahead.
	lookaheadReplacer = strings.NewReplacer(
		`(?!-)[A-Za-z0-9-]{0,62}[A-Za-z0-9]`, `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`,
		`(?!-)[A-Za-z0-9-]{1,62}[A-Za-z0-9]`, `[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]`,
	)
)

// compilePattern converts a pattern of AWS to a Go regular expression that matches the whole value, or nil for an empty
// pattern. It panics if Go does not support the pattern.
func compilePattern(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	pattern = lookaheadReplacer.Replace(unicodeEscape.ReplaceAllString(pattern, `\x{$1}`))
	return regexp.MustCompile(`\A(?:` + pattern + `)\z`)
}

// IsEnumValue reports whether value belongs to an enumeration of any service. Such a value is not a name that a user chose.
func IsEnumValue(value string) bool { return enumValues()[value] }

var enumValues = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, s := range models() {
		for _, op := range s.operations {
			for _, root := range []*shape{op.input, op.output} {
				root.collectEnumValues(out, map[*shape]bool{})
			}
		}
	}
	return out
})

func (s *shape) collectEnumValues(out map[string]bool, seen map[*shape]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	for v := range s.enum {
		out[v] = true
	}
	s.item.collectEnumValues(out, seen)
	s.key.collectEnumValues(out, seen)
	for _, m := range s.members {
		m.shape.collectEnumValues(out, seen)
	}
}
