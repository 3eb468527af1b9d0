package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// failingSource is a source that cannot be read, like a cache that has not synced.
type failingSource struct{ fail func() error }

func (b failingSource) Get(cluster.Ref) (cluster.Object, error)      { return nil, b.fail() }
func (b failingSource) List(cluster.Query) ([]cluster.Object, error) { return nil, b.fail() }

// TestInternalErrorsGiveNoAdmissionAnswer checks that an error or a panic causes HTTP status 500 without an admission
// answer, so that the failure policy of the webhook applies. Panics are counted.
func TestInternalErrorsGiveNoAdmissionAnswer(t *testing.T) {
	pod := testRequest{Path: webhook.PathPodGate, Operation: admissionv1.Create, Namespace: "shop", Object: decodeObject(t, "{metadata: {name: a}, spec: {}}")}
	ing := testRequest{Path: webhook.PathIngress, Operation: admissionv1.Create, Namespace: "shop", Object: decodeObject(t, "{metadata: {name: a}, spec: {ingressClassName: alb}}")}
	for name, src := range map[string]failingSource{
		"error": {func() error { return errors.New("not complete yet") }},
		"panic": {func() error { panic("a bug") }},
	} {
		for _, q := range []testRequest{pod, ing} {
			c, panics := testConfig(src), prometheus.NewCounter(prometheus.CounterOpts{Name: "panics"})
			c.Panics = panics
			w := sendReview(t, newTestHandler(c), q)
			if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "goroutine") {
				t.Errorf("%s at %s: HTTP %d %s", name, q.Path, w.Code, w.Body)
			}
			if n := testutil.ToFloat64(panics); (n == 1) != (name == "panic") {
				t.Errorf("%s at %s: %v panics are counted", name, q.Path, n)
			}
		}
	}
}

func TestInvalidReviewsAreRefused(t *testing.T) {
	h := newTestHandler(testConfig(newStore(t, "")))
	for name, tc := range map[string]struct {
		kind, body string
		want       int
	}{
		"no type":         {"", "{}", http.StatusUnsupportedMediaType},
		"another type":    {"text/plain", "{}", http.StatusUnsupportedMediaType},
		"no JSON":         {"application/json", "x", http.StatusBadRequest},
		"another kind":    {"application/json", `{"apiVersion":"v1","kind":"Pod"}`, http.StatusBadRequest},
		"another version": {"application/json", `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}`, http.StatusBadRequest},
		"no request":      {"application/json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"too large":       {"application/json", strings.Repeat(" ", 8<<20), http.StatusRequestEntityTooLarge},
		"with a charset":  {"application/json; charset=utf-8", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a"}}`, http.StatusOK},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.PathIngress, strings.NewReader(tc.body))
		if tc.kind != "" {
			req.Header.Set("Content-Type", tc.kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != tc.want {
			t.Errorf("%s: HTTP %d, want %d", name, w.Code, tc.want)
		}
	}
}

func TestOnlyRefusalsAreCounted(t *testing.T) {
	c := testConfig(newStore(t, ""))
	c.DenyClassAnnotation = true
	registry := prometheus.NewRegistry()
	if err := c.Metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	c.AgentConfigs = agentConfigs{"a": {DataAddress: "no port"}}
	h := newTestHandler(c)
	for _, path := range []string{webhook.PathPodAgentByNS, webhook.PathPodAgentByPod} {
		mustAnswer(t, h, testRequest{Path: path, Operation: admissionv1.Create, Namespace: "a",
			Object: decodeObject(t, `{metadata: {name: a, labels: {elbv2.k8s.aws/alb-target-control-agent-inject: "true"}}, spec: {}}`)})
	}
	for _, class := range []string{"alb", "nginx", "alb"} {
		mustAnswer(t, h, testRequest{Path: webhook.PathIngress, Operation: admissionv1.Create, Namespace: "a",
			Object: decodeObject(t, "{metadata: {name: a, annotations: {kubernetes.io/ingress.class: "+class+"}}, spec: {}}")})
	}
	want := `
# HELP awslbc_webhook_mutation_failure_total Denied requests of mutating webhooks, by check.
# TYPE awslbc_webhook_mutation_failure_total counter
awslbc_webhook_mutation_failure_total{error_category="albTargetControlAgentInjector",webhook_name="/mutate-alb-target-control-namespace-v1-pod"} 2
# HELP awslbc_webhook_validation_failure_total Denied requests of validating webhooks, by check.
# TYPE awslbc_webhook_validation_failure_total counter
awslbc_webhook_validation_failure_total{error_category="checkIngressClassAnnotationUsage",webhook_name="/validate-networking-v1-ingress"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestDeniedAcceleratorsAreCounted checks that the metrics count denied GlobalAccelerators under the check names that
// dashboards use.
func TestDeniedAcceleratorsAreCounted(t *testing.T) {
	c := testConfig(newStore(t, ""))
	c.Accelerator = webhook.AcceleratorOptions{Served: true, Region: "eu-west-1"}
	registry := prometheus.NewRegistry()
	if err := c.Metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	h := newTestHandler(c)
	for _, spec := range []string{
		"listeners: [{endpointGroups: [{endpoints: [{type: Service, name: a}, {type: Service, name: a}]}]}]",
		"listeners: [{protocol: TCP, portRanges: [{fromPort: 1, toPort: 3}, {fromPort: 3, toPort: 4}]}]",
		"listeners: [{protocol: TCP, portRanges: [{fromPort: 1, toPort: 3}]}]",
	} {
		mustAnswer(t, h, testRequest{Path: webhook.PathAccelerator, Operation: admissionv1.Create, Namespace: "a", Object: decodeObject(t, "metadata: {name: a}\nspec: {"+spec+"}")})
	}
	want := `
# HELP awslbc_webhook_validation_failure_total Denied requests of validating webhooks, by check.
# TYPE awslbc_webhook_validation_failure_total counter
awslbc_webhook_validation_failure_total{error_category="checkForDuplicateEndpoints",webhook_name="/validate-aga-k8s-aws-v1beta1-globalaccelerator"} 1
awslbc_webhook_validation_failure_total{error_category="checkForOverlappingPortRanges",webhook_name="/validate-aga-k8s-aws-v1beta1-globalaccelerator"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestRequestsOfUnwatchedNamespacesAreAllowed checks that requests for other namespaces are allowed if only one namespace is
// watched, because the source has no objects of the other namespaces.
func TestRequestsOfUnwatchedNamespacesAreAllowed(t *testing.T) {
	c := configOf(t, caseOptions{Namespace: "shop", LoadBalancerClass: "service.k8s.aws/nlb", Agent: agentConfigs{"other": {}}}, "")
	c.Source = failingSource{func() error { return errors.New("an unknown namespace") }}
	h := newTestHandler(c)
	for _, q := range []testRequest{
		{Path: webhook.PathPodGate, Object: decodeObject(t, "{metadata: {name: a}, spec: {}}")},
		{Path: webhook.PathPodAgentByPod, Object: decodeObject(t, `{metadata: {name: a, labels: {elbv2.k8s.aws/alb-target-control-agent-inject: "true"}}, spec: {}}`)},
		{Path: webhook.PathPodServerID, Object: decodeObject(t, "{metadata: {name: a, annotations: {service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers: a}}, spec: {containers: [{name: a}]}}")},
		{Path: webhook.PathService, Object: decodeObject(t, "{metadata: {name: a}, spec: {type: LoadBalancer}}")},
		{Path: webhook.PathBindingDefault, Object: decodeObject(t, "{metadata: {name: a}, spec: {}}")},
		{Path: webhook.PathBinding, Object: decodeObject(t, "{metadata: {name: a}, spec: {}}")},
		{Path: webhook.PathIngress, Object: decodeObject(t, "{metadata: {name: a}, spec: {ingressClassName: alb}}")},
	} {
		q.Operation, q.Namespace = admissionv1.Create, "other"
		if a := mustAnswer(t, h, q); !a.Allowed || len(a.Patch) > 0 {
			t.Errorf("%s: %+v", q.Path, a)
		}
	}
	params := testRequest{Path: webhook.PathIngressClassParams, Operation: admissionv1.Create, Object: decodeObject(t, "{metadata: {name: a}, spec: {inboundCIDRs: [x]}}")}
	if a := mustAnswer(t, h, params); a.Allowed {
		t.Error("IngressClassParams, which have no namespace, are not checked")
	}
}
