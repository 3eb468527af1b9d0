// Package takeover makes in AWS and in a cluster what the recorded cases say another controller leaves, with ids,
// names and annotations as it makes them. Its tests let a controller find it, and expect that it changes nothing. Only
// tests use it.
package takeover
