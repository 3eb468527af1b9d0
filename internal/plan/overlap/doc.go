// Package overlap finds the listener rules that may match the same requests, by their hosts and paths. Its index avoids the
// comparison of each pair of rules.
package overlap
