// Package replacement plans how a new load balancer replaces one whose scheme or type has to change, which AWS cannot
// do in place.
package replacement
