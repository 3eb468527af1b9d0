package wire

import (
	"net/url"
	"strings"
)

// Request has the parts of an HTTP request from which codecs read members. Only the codec of the REST protocol reads more
// than the body.
type Request struct {
	Method string
	// Path is the decoded path.
	Path  string
	Query url.Values
	Body  []byte
	// Form is the parsed body of a form request. If it is nil, the codec parses Body.
	Form url.Values
}

// Route maps the method and the path of a request in the REST protocol to an operation, and parts of the path and the query
// to members.
type Route struct {
	Operation string
	Method    string
	// Path is the path, with the names of members in braces instead of their values, such as "/2013-04-01/change/{Id}".
	Path string
	// Query maps the names of query parameters to the names of members.
	Query map[string]string
}

// Router is a codec that finds the operation of a request by its method and path.
type Router interface {
	// Route returns the operation of a request. ok is false if there is none.
	Route(method, path string) (operation string, ok bool)
}

// match returns the members in a path. ok is false if the method or the path does not match the route.
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
