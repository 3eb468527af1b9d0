package wire

import (
	"net/url"
	"strings"
)

// Request contains the parts of an HTTP request from which codecs read members. Only the REST protocol reads more than the
// body.
type Request struct {
	Method string
	// Path is the decoded path.
	Path  string
	Query url.Values
	Body  []byte
	// Form is the body as a form, nil if it was not parsed.
	Form url.Values
}

// Route is the method and the path of an operation in the REST protocol, with the members in path and query.
type Route struct {
	Operation string
	Method    string
	// Path contains the names of members in braces in place of their values, such as "/2013-04-01/change/{Id}".
	Path string
	// Query maps names of query parameters to members.
	Query map[string]string
}

// Router is a codec that finds operations by method and path.
type Router interface {
	// Route returns the operation of a request. ok is false if there is
	// none.
	Route(method, path string) (operation string, ok bool)
}

// match returns the members in a path. ok is false if method or path are not those of the
// route.
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
