package naming

import (
	"crypto/sha256"
	"encoding/hex"
)

// hexHash returns the lower-case hex SHA-256 of the parts, joined without separators.
func hexHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sanitize removes all characters except ASCII letters and digits, and truncates the result to limit characters.
func sanitize(s string, limit int) string {
	out := make([]byte, 0, limit)
	for i := 0; i < len(s) && len(out) < limit; i++ {
		c := s[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			out = append(out, c)
		}
	}
	return string(out)
}

// namespacedName returns "k8s-<ns>-<name>-<hash>", at most 32 characters.
func namespacedName(namespace, name string, hashed ...string) string {
	return "k8s-" + sanitize(namespace, 8) + "-" + sanitize(name, 8) + "-" + hexHash(hashed...)[:10]
}

// ingressGroupName returns "k8s-<group>-<hash>", at most 32 characters.
func ingressGroupName(group string, hashed ...string) string {
	return "k8s-" + sanitize(group, 17) + "-" + hexHash(hashed...)[:10]
}

// shorten replaces a text that is longer than limit by its beginning and a hash of the whole text, so that different texts
// stay different. A shorter text is returned unchanged.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit-11] + "-" + hexHash(s)[:10]
}
