package controller

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// RateLimit is the current rate of a token bucket of the rate limiter.
type RateLimit struct {
	Service    string
	Operations string  // regular expression of operations
	Rate       float64 // calls per second
}

// rateLimits collects the rates of the token buckets at each scrape.
type rateLimits struct {
	read atomic.Pointer[func() []RateLimit] // nil before the process has connected to AWS
}

var rateLimitsDesc = prometheus.NewDesc("fulcrum_aws_rate_limit",
	"Calls per second that the rate limiter currently admits for the AWS account of the controller, by service and regular expression of operations, as in --aws-api-throttle. The rate limiter learns the rate from throttled calls, unless the flag sets it.",
	[]string{"service", "operations"}, nil)

// Describe implements prometheus.Collector.
func (r *rateLimits) Describe(ch chan<- *prometheus.Desc) { ch <- rateLimitsDesc }

// Collect implements prometheus.Collector.
func (r *rateLimits) Collect(ch chan<- prometheus.Metric) {
	read := r.read.Load()
	if read == nil {
		return
	}
	for _, x := range (*read)() {
		ch <- prometheus.MustNewConstMetric(rateLimitsDesc, prometheus.GaugeValue, x.Rate, x.Service, x.Operations)
	}
}

// SetRateLimitReader sets the function that returns the current rates. It must return each pair of service and operations at
// most once.
func (m *Metrics) SetRateLimitReader(read func() []RateLimit) { m.rateLimits.read.Store(&read) }
