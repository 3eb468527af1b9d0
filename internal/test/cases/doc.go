// Package cases holds the recorded behaviour cases: objects that a user applies, and what became of
// them in AWS and in the cluster, recorded from the controller that Fulcrum takes the place of. It
// is used by tests alone. They apply each case to a whole controller in memory, read AWS back
// through its API and compare; where Fulcrum differs on purpose, the table in differences_test.go
// says how and why. Package takeover builds what was recorded and lets a controller find it.
package cases
