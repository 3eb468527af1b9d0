// Package charts has the Helm chart and the tests that render it with Helm's library. It is a separate module, so
// that the controller does not depend on Helm and Prometheus.
package charts

//go:generate go test -count=1 -run TestGenerated . -update
