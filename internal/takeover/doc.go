// Package takeover holds the tests of taking over a cluster. They build in AWS and in a cluster
// what the recorded cases say another controller leaves, with ids, names and annotations as it
// makes them, let a controller find it, and expect that it changes nothing. It has only tests.
package takeover
