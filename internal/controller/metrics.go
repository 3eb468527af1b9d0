package controller

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Metrics are the metrics of this process, in addition to the metrics of controller-runtime. Names and labels are part of
// the compatibility contract.
type Metrics struct {
	calls, requests              *prometheus.CounterVec
	callTime, requestTime        *prometheus.HistogramVec
	retries                      *prometheus.HistogramVec
	deniedCalls, quotaRefusals   *prometheus.CounterVec
	throttledCalls, invalidCalls *prometheus.CounterVec
	readinessTime, stageTime     *prometheus.HistogramVec
	errors, missingServerIDs     *prometheus.CounterVec
	drift, steps, callsByCause   *prometheus.CounterVec
	queueTime, registrationTime  *prometheus.HistogramVec
	orphans                      *prometheus.GaugeVec // no value before the first search for orphans
	topConsumers                 *topConsumers
	findings                     *findings
	rateLimits                   rateLimits
	shadow                       shadowMetrics
	collectors                   []prometheus.Collector
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	m := &Metrics{topConsumers: newTopConsumers(), findings: newFindings()}
	m.orphans = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fulcrum_orphans",
		Help: "Load balancers, target groups, security groups, certificates and accelerators with the tags of the cluster that no object uses, as of the last search. The controller searches every 6 hours."}, nil)
	m.collectors = append(m.collectors, m.topConsumers, m.findings, m.orphans, &m.rateLimits, &m.shadow)
	full := []string{"service", "operation", "status_code", "error_code"}
	short := []string{"service", "operation"}
	counter := func(subsystem, name, help string, labels []string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
		m.collectors = append(m.collectors, v)
		return v
	}
	histogram := func(subsystem, name, help string, buckets []float64, labels []string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, labels)
		m.collectors = append(m.collectors, v)
		return v
	}
	m.calls = counter("aws", "api_calls_total", "Calls to AWS. A call with retries counts once.", full)
	m.callTime = histogram("aws", "api_call_duration_seconds", "Duration of calls, including retries and waits for the rate limiter.", prometheus.DefBuckets, short)
	m.retries = histogram("aws", "api_call_retries", "Retries of a call.", prometheus.LinearBuckets(0, 1, 11), short)
	m.requests = counter("aws", "api_requests_total", "HTTP requests to AWS.", full)
	m.requestTime = histogram("aws", "api_request_duration_seconds", "Duration of one HTTP request.", prometheus.DefBuckets, short)
	m.deniedCalls = counter("aws", "api_call_permission_errors_total", "Calls that failed because a permission is missing.", full)
	m.quotaRefusals = counter("aws", "api_call_service_limit_exceeded_errors_total", "Calls that failed with an error code that contains LimitExceeded, because a quota is reached.", full)
	m.throttledCalls = counter("aws", "api_call_throttled_errors_total", "Calls that failed because AWS throttled them.", full)
	m.invalidCalls = counter("aws", "api_call_validation_errors_total", "Calls that AWS refused with error code ValidationError.", full)
	m.readinessTime = histogram("awslbc", "readiness_gate_ready_seconds", "Time from the registration of a pod until its readiness gate is true.",
		[]float64{10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600}, []string{"namespace", "name"})
	m.missingServerIDs = counter("awslbc", "quic_target_missing_server_id", "Endpoints that were not registered in a QUIC target group, because their pods have no server ID.",
		[]string{"namespace", "name"})
	m.steps = counter("fulcrum", "plan_steps_total", "Attempted steps of plans, by kind of resource, change (verb), impact on traffic (impact) and result (done, failed; later: the failure is transient).", []string{"controller", "kind", "verb", "impact", "result"})
	m.callsByCause = counter("fulcrum", "aws_calls_total", "Calls to AWS by purpose (cause: stack, targets, drift, orphans, other) and result (result: ok, throttled, denied, quota, refused, unanswered).", []string{"service", "operation", "cause", "result"})
	m.queueTime = histogram("fulcrum", "queue_seconds", "Time that an item waits for a worker after it is due, by priority (label lane), highest first: targets, edits, drift, resync (unchanged).",
		[]float64{0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60, 300}, []string{"controller", "lane"})
	m.registrationTime = histogram("fulcrum", "registration_seconds", "Time from a change of pods, endpoints or nodes to the resulting registration of targets, including the wait for a worker and for the rate limiter.",
		[]float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60}, nil)
	m.drift = counter("fulcrum", "drift_total", "Resources that other clients have changed in AWS, by kind, and whether the controller restored them (mode repair) or reported them (mode report).", []string{"kind", "mode"})
	m.errors = counter("awslbc", "controller_reconcile_errors_total", "Failed runs, by the part of the run that failed.", []string{"controller", "error_category"})
	m.stageTime = histogram("awslbc", "controller_reconcile_stage_duration", "Duration of a phase of a run, in seconds.", prometheus.DefBuckets, []string{"controller", "reconcile_stage"})
	return m
}

// Register registers all metrics with a Prometheus registry.
func (m *Metrics) Register(r prometheus.Registerer) error {
	for _, c := range m.collectors {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Call is a call to AWS, or one of its HTTP requests.
type Call struct {
	Service, Operation string
	Status             string // HTTP status code; "0" without an answer
	Code               string // AWS error code; "" on success
	// Cause is why the call is made: stack, targets, drift or orphans; "" for any other reason.
	Cause    string
	Duration time.Duration
	Attempts int
}

// throttleCodes are the AWS error codes of throttled calls. Some contain LimitExceeded, so they are compared before the codes
// of quotas.
var throttleCodes = map[string]bool{
	"Throttling": true, "ThrottlingException": true, "ThrottledException": true, "RequestThrottledException": true,
	"TooManyRequestsException": true, "ProvisionedThroughputExceededException": true, "TransactionInProgressException": true,
	"RequestLimitExceeded": true, "BandwidthLimitExceeded": true, "LimitExceededException": true, "RequestThrottled": true,
	"SlowDown": true, "PriorRequestNotComplete": true, "EC2ThrottledException": true,
}

// CountCall counts a call. A call without an answer (status "0") is counted only in fulcrum_aws_calls_total.
func (m *Metrics) CountCall(c Call) {
	result := c.result()
	m.callsByCause.WithLabelValues(c.Service, c.Operation, cmp.Or(c.Cause, "other"), result).Inc()
	if c.Status == "0" {
		return
	}
	labels := []string{c.Service, c.Operation, c.Status, c.Code}
	m.calls.WithLabelValues(labels...).Inc()
	m.callTime.WithLabelValues(c.Service, c.Operation).Observe(c.Duration.Seconds())
	m.retries.WithLabelValues(c.Service, c.Operation).Observe(float64(max(c.Attempts-1, 0)))
	switch {
	case result == "denied":
		m.deniedCalls.WithLabelValues(labels...).Inc()
	case result == "throttled":
		m.throttledCalls.WithLabelValues(labels...).Inc()
	case strings.Contains(c.Code, "LimitExceeded"):
		m.quotaRefusals.WithLabelValues(labels...).Inc()
	case c.Code == "ValidationError":
		m.invalidCalls.WithLabelValues(labels...).Inc()
	}
}

// CountRequest counts one HTTP request to AWS. A call with retries makes several requests.
func (m *Metrics) CountRequest(c Call) {
	m.requests.WithLabelValues(c.Service, c.Operation, c.Status, c.Code).Inc()
	m.requestTime.WithLabelValues(c.Service, c.Operation).Observe(c.Duration.Seconds())
}

// stageLabels are the values of the label reconcile_stage that existing dashboards use, by controller and engine phase.
var stageLabels = map[string]map[string]string{
	model.Ingress.ControllerName(): {
		"view": "fetch_ingress", "claim": "add_group_finalizer", "release": "remove_group_finalizer", "plan": "build_model", "apply": "deploy_model", "report": "dns_resolve_and_update_status",
	},
	model.Service.ControllerName(): {
		"view": "fetch_service", "claim": "add_finalizers", "release": "cleanup_load_balancer", "plan": "build_model", "apply": "deploy_model", "report": "update_status",
	},
	bindingControllerName: {
		"view": "fetch_targetGroupBinding", "claim": "add_finalizers", "run": "reconcile_targetgroupbinding", "report": "update_status",
	},
	model.GlobalAccelerator.ControllerName(): {
		"view": "fetch_globalAccelerator", "claim": "add_finalizers", "release": "remove_finalizers", "plan": "build_model", "apply": "deploy_stack", "run": "reconcile_globalaccelerator",
	},
}

// synthesizerLabels are the values of the label reconcile_stage that existing dashboards use, by kind of resource.
var synthesizerLabels = map[plan.ResourceKind]string{
	plan.SecurityGroup:        "*ec2.securityGroupSynthesizer",
	plan.BackendSecurityGroup: "*ec2.securityGroupSynthesizer",
	plan.TargetGroup:          "*elbv2.targetGroupSynthesizer",
	plan.LoadBalancer:         "*elbv2.loadBalancerSynthesizer",
	plan.Listener:             "*elbv2.listenerSynthesizer",
	plan.Rule:                 "*elbv2.listenerRuleSynthesizer",
	plan.Binding:              "*elbv2.targetGroupBindingSynthesizer",
	plan.ALBTarget:            "*elbv2.frontendNlbTargetSynthesizer",
	plan.Certificate:          "*acm.certificateSynthesizer",
	plan.ValidationRecord:     "*acm.certificateSynthesizer",
	plan.WebACL:               "*wafv2.webACLAssociationSynthesizer",
	plan.ClassicACL:           "*wafregional.webACLAssociationSynthesizer",
	plan.Protection:           "*shield.protectionSynthesizer",

	plan.Accelerator:         "*aga.acceleratorSynthesizer",
	plan.AcceleratorListener: "*aga.listenerSynthesizer",
	plan.EndpointGroup:       "*aga.endpointGroupSynthesizer",
}

// countStep counts a step by its result: done, failed, or later for a transient failure.
func (m *Metrics) countStep(kind model.Kind, f engine.FailedStep) {
	result := "done"
	switch {
	case f.Err != nil && f.IsTransient():
		result = "later"
	case f.Err != nil:
		result = "failed"
	}
	m.steps.WithLabelValues(kind.ControllerName(), string(f.Step.Address.Kind), string(f.Step.Verb), string(cmp.Or(f.Step.Impact, plan.NoImpact)), result).Inc()
}

// RecordWait implements queue.Metrics.
func (m *Metrics) RecordWait(controller, priority string, d time.Duration) {
	m.queueTime.WithLabelValues(controller, priority).Observe(d.Seconds())
}

// result returns the value of the label result of fulcrum_aws_calls_total.
func (c Call) result() string {
	switch {
	case c.Status == "0":
		return "unanswered"
	case c.Code == "":
		return "ok"
	case c.Status == "401", c.Status == "403", c.Code == "AccessDeniedException", c.Code == "AuthFailure":
		return "denied"
	case throttleCodes[c.Code]:
		return "throttled"
	case strings.Contains(c.Code, "LimitExceeded"), strings.HasPrefix(c.Code, "TooMany"):
		return "quota"
	}
	return "refused"
}

// countDrift counts a resource that has drifted.
func (m *Metrics) countDrift(kind string, mode engine.DriftMode) {
	m.drift.WithLabelValues(kind, string(mode)).Inc()
}

// recordPhase records the duration of a phase of a run, under the stage of the phase.
func (m *Metrics) recordPhase(controller, phase string, took time.Duration) {
	m.stageTime.WithLabelValues(controller, stageOf(controller, phase)).Observe(took.Seconds())
}

// stageOf returns the value of the label reconcile_stage for a phase of a run: the value that existing dashboards use, or
// the name of the phase if they use none.
func stageOf(controller, phase string) string {
	if s, ok := stageLabels[controller][phase]; ok {
		return s
	}
	if s, ok := synthesizerLabels[plan.ResourceKind(phase)]; ok {
		return s
	}
	return phase
}

// bindingControllerName is the name of the controller of TargetGroupBindings in logs, metrics and queues.
const bindingControllerName = "targetGroupBinding"
