// Package cases has the recorded behaviour cases: objects that a user applies, and the resulting AWS resources and
// status, recorded from aws-load-balancer-controller. Only tests use it. They apply each case to a whole controller
// in memory, read AWS through its API and compare. The table in differences_test.go lists intended differences with
// their reasons. Package takeover creates the recorded resources and lets a controller take them over.
package cases
