// Package harness is the whole controller over a Kubernetes and an AWS in memory, for tests: no
// socket, no goroutine, and all waiting in virtual time when it is used inside a testing/synctest
// bubble. It is where faults are explored: the process can die at any call, answers can get lost,
// and everything starts again from what is left in the cluster and in AWS.
package harness
