package naming

import (
	"crypto/sha256"
	"encoding/hex"
)

// hexHash returns the SHA-256 hash of the parts, which are joined without separators, as lower-case hexadecimal digits.
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

// namespacedName returns a generated name "k8s-<namespace>-<name>-<hash>", at most 32 characters. hashed are the texts for
// the hash.
func namespacedName(namespace, name string, hashed ...string) string {
	return namespacedPrefix(namespace, name) + hexHash(hashed...)[:10]
}

// namespacedPrefix returns the beginning of a generated name before the hash.
func namespacedPrefix(namespace, name string) string {
	return "k8s-" + sanitize(namespace, 8) + "-" + sanitize(name, 8) + "-"
}

// ingressGroupName returns a generated name "k8s-<group>-<hash>", at most 32 characters. group is the name of the
// IngressGroup, hashed are the texts for the hash.
func ingressGroupName(group string, hashed ...string) string {
	return "k8s-" + sanitize(group, 17) + "-" + hexHash(hashed...)[:10]
}

// shorten returns s if it is not longer than limit. Otherwise it returns the beginning of s and a hash of s, together as
// long as limit, so that different texts stay different.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit-11] + "-" + hexHash(s)[:10]
}
