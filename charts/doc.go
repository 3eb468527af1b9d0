// Package charts has the Helm chart, and tests that render the chart with the Go library of Helm. It is a separate module,
// so that the controller does not depend on the libraries of Helm and Prometheus.
package charts

//go:generate go test -count=1 -run TestGenerated . -update
