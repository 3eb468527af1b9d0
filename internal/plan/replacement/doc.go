// Package replacement has another load balancer take the place of one whose scheme or type AWS cannot change.
package replacement
