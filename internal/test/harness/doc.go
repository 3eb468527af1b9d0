// Package harness runs the whole controller with a Kubernetes store and an AWS emulator in memory, for tests. It uses
// no sockets, and no goroutines unless Options.Workers is set. In a testing/synctest bubble it waits in virtual time.
// Tests can kill the controller at any call, lose responses, and restart the controller.
package harness
