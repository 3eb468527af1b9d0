package attach

import "strings"

// intersectHosts returns the more specific of two hostnames if some requests match both, and false otherwise. "" means
// any hostname.
func intersectHosts(a, b string) (string, bool) {
	switch {
	case a == b || b == "" || coversHost(b, a):
		return a, true
	case a == "" || coversHost(a, b):
		return b, true
	}
	return "", false
}

// coversHost reports whether hostname a matches all requests that hostname b matches, and other requests as well. "" means
// any hostname.
func coversHost(a, b string) bool {
	if a == "" {
		return b != ""
	}
	return strings.HasPrefix(a, "*.") && b != a && strings.HasSuffix(b, a[1:])
}

// compatibleHosts returns the hostnames for which a route serves requests on a listener, and whether there are any. A nil
// list with true means all hostnames. listener is the hostname of the listener, and route has the hostnames of the route.
func compatibleHosts(listener string, route []string) ([]string, bool) {
	switch {
	case len(route) == 0 && listener == "":
		return nil, true
	case len(route) == 0:
		return []string{listener}, true
	case listener == "":
		return route, true
	}
	var out []string
	seen := map[string]bool{}
	for _, r := range route {
		if !isValidHostname(r) {
			continue
		}
		if h, ok := intersectHosts(listener, r); ok && !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out, len(out) > 0
}
