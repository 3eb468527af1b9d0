package wire

import (
	"net/url"
	"strings"
)

// Request is what a codec reads the members of an input from. Only the REST
// protocol looks at more than the body.
type Request struct {
	Method string
	// Path is the decoded path.
	Path  string
	Query url.Values
	Body  []byte
	// Form is the body if it was read as a form already.
	Form url.Values
}

// Route is where the REST protocol puts an operation and some of its members.
type Route struct {
	Operation string
	Method    string
	// Path has a member's name in braces in place of its value, such as
	// "/2013-04-01/change/{Id}".
	Path string
	// Query maps names of query parameters to members.
	Query map[string]string
}

// Router is a codec that finds operations by method and path.
type Router interface {
	// Route finds the operation of a request; ok is false if the service has
	// none there.
	Route(method, path string) (operation string, ok bool)
}

// match reads the members that are part of a path; ok is false if the path is not the
// route's.
func (r Route) match(method, path string) (members map[string]string, ok bool) {
	if method != r.Method {
		return nil, false
	}
	want, have := strings.Split(r.Path, "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(want) != len(have) {
		return nil, false
	}
	members = map[string]string{}
	for i, w := range want {
		switch name, wild := strings.CutPrefix(w, "{"); {
		case wild && have[i] != "":
			members[strings.TrimSuffix(name, "}")] = have[i]
		case w != have[i]:
			return nil, false
		}
	}
	return members, true
}
