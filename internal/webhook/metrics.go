package webhook

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts denied requests. Names and labels are part of the compatibility contract: webhook_name is the path,
// error_category is the check.
type Metrics struct {
	validation, mutation *prometheus.CounterVec
}

// NewMetrics returns new metrics, which are not registered.
func NewMetrics() *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: "awslbc", Name: name, Help: help}, []string{"webhook_name", "error_category"})
	}
	return &Metrics{
		validation: counter("webhook_validation_failure_total", "Denied requests of validating webhooks, by check."),
		mutation:   counter("webhook_mutation_failure_total", "Denied requests of mutating webhooks, by check."),
	}
}

// Register adds the metrics to a registry.
func (m *Metrics) Register(r prometheus.Registerer) error {
	if err := r.Register(m.validation); err != nil {
		return err
	}
	return r.Register(m.mutation)
}

// deniedRequests returns the counters of denied requests for a path, by check.
func (m *Metrics) deniedRequests(path string, mutating bool) *prometheus.CounterVec {
	v := m.validation
	if mutating {
		v = m.mutation
	}
	return v.MustCurryWith(prometheus.Labels{"webhook_name": path})
}
