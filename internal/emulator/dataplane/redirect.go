package dataplane

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
)

// redirect answers the request with a redirect action.
func (x *exchange) redirect(to Redirect) {
	status := to.Status
	if status == 0 {
		status = http.StatusFound
	}
	x.w.Header().Set("Location", redirectLocation(to, placeholderValues{
		protocol: strings.ToLower(string(x.route.listener.protocol)),
		host:     hostForURL(x.r.Host),
		port:     strconv.Itoa(int(x.route.listener.port)),
		path:     strings.TrimPrefix(x.path, "/"),
		query:    x.query,
	}))
	x.answer(status)
}

// placeholderValues contains the values of the placeholders in a redirect.
type placeholderValues struct{ protocol, host, port, path, query string }

// redirectLocation returns the value of the Location header of a redirect. The URL always has a port, and nothing is
// percent-encoded.
func redirectLocation(to Redirect, from placeholderValues) string {
	fill := strings.NewReplacer(
		"#{protocol}", from.protocol, "#{host}", from.host, "#{port}", from.port,
		"#{path}", from.path, "#{query}", from.query,
	).Replace
	url := strings.ToLower(fill(cmp.Or(to.Protocol, "#{protocol}"))) + "://" +
		fill(cmp.Or(to.Host, "#{host}")) + ":" + fill(cmp.Or(to.Port, "#{port}")) +
		fill(cmp.Or(to.Path, "/#{path}"))
	if query := fill(to.Query); query != "" {
		url += "?" + query
	}
	return url
}

// hostForURL returns a host without its port. An IPv6 address is in brackets.
func hostForURL(host string) string {
	host = hostWithoutPort(host)
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
