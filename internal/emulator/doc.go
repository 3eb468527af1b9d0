// Package emulator emulates AWS in one process. It serves requests of the official SDKs and command line, over HTTP
// or in memory, from a state machine that behaves as AWS does.
//
//	em := emulator.New(emulator.Options{Seed: 1})
//	cfg := aws.Config{Region: "us-west-2", HTTPClient: em.Client(), Credentials: …}
//
// This package finds the service and operation of a request, injects faults, runs the operation under the state
// lock, and logs the call. The packages below implement the operations; dataplane and serve implement traffic
// through load balancers.
//
// It starts no goroutine of its own and takes the time from Options.Clock, so it can be used inside a
// testing/synctest bubble.
package emulator
