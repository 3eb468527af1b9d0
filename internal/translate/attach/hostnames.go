package attach

import "strings"

// intersect returns the more specific one of two hostnames, where requests exist that both match. "" is any hostname.
func intersect(a, b string) (string, bool) {
	switch {
	case a == b || b == "" || covers(b, a):
		return a, true
	case a == "" || covers(a, b):
		return b, true
	}
	return "", false
}

// covers reports whether every request that b matches is matched by a, and more are. "" is any hostname.
func covers(a, b string) bool {
	if a == "" {
		return b != ""
	}
	return strings.HasPrefix(a, "*.") && b != a && strings.HasSuffix(b, a[1:])
}

// compatible returns the hostnames of requests that a route serves on a listener; nil for any. It reports whether there
// are any.
func compatible(listener string, route []string) ([]string, bool) {
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
		if !hostnameValid(r) {
			continue
		}
		if h, ok := intersect(listener, r); ok && !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out, len(out) > 0
}
