// Package charts holds the Helm chart, and tests that render it with Helm's library. It is a module of its own,
// so that the controller does not depend on Helm and Prometheus.
package charts

//go:generate go test -count=1 -run TestGenerated . -update
