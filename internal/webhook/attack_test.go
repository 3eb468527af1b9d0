package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// otherTenantObjects has IngressClasses, the namespace "team", and the objects of another tenant in the namespace "shop".
const otherTenantObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: pinned}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: pinned}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: pinned}
spec: {group: {name: edge}, namespaceSelector: {matchLabels: {edge: "yes"}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {edge: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: shops, namespace: shop}
spec: {targetGroupARN: "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/shops/0123456789abcdef", targetType: ip, serviceRef: {name: web, port: 80}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, finalizers: [group.ingress.k8s.aws/edge]}
spec:
  ingressClassName: pinned
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`

// noSecretsSource fails the test if a Secret is read.
type noSecretsSource struct {
	cluster.Source
	t *testing.T
}

func (g noSecretsSource) Get(ref cluster.Ref) (cluster.Object, error) {
	if ref.Kind == cluster.KindSecret {
		g.t.Errorf("%s is read", ref)
	}
	return g.Source.Get(ref)
}

func (g noSecretsSource) List(q cluster.Query) ([]cluster.Object, error) {
	if q.Kind == cluster.KindSecret {
		g.t.Error("Secrets are listed")
	}
	return g.Source.List(q)
}

// TestAdmissionUsesTheNamespaceOfTheRequest checks that admission uses the namespace of the request, not the namespace in
// the object, and that it reads no Secret.
func TestAdmissionUsesTheNamespaceOfTheRequest(t *testing.T) {
	h := newTestHandler(testConfig(noSecretsSource{newStore(t, otherTenantObjects), t}))
	ingress := func(more string) map[string]any {
		return decodeObject(t, `
metadata: {name: web, namespace: shop, annotations: {alb.ingress.kubernetes.io/auth-type: oidc, alb.ingress.kubernetes.io/auth-idp-oidc: '{"issuer":"i","secretName":"../shop/login"}', alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]'}`+more+`}
spec: {ingressClassName: pinned, rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}`)
	}
	for name, more := range map[string]string{
		"another namespace":          "",
		"a forged finalizer":         ", finalizers: [group.ingress.k8s.aws/edge]",
		"a forged owner":             ", ownerReferences: [{apiVersion: v1, kind: Namespace, name: shop, uid: a}]",
		"a deletion that is claimed": ", generation: 7",
	} {
		q := testRequest{Path: webhook.PathIngress, Operation: admissionv1.Create, Namespace: "team", Object: ingress(more)}
		if a := mustAnswer(t, h, q); a.Allowed || !strings.Contains(a.Result.Message, "does not match namespace \"team\"") {
			t.Errorf("%s: %+v", name, a)
		}
		q.Operation, q.Old = admissionv1.Update, ingress("")
		q.Old["spec"].(map[string]any)["ingressClassName"] = "other"
		if a := mustAnswer(t, h, q); a.Allowed {
			t.Errorf("%s in an update: %+v", name, a)
		}
	}
	pod := testRequest{Path: webhook.PathPodGate, Operation: admissionv1.Create, Namespace: "team", Object: decodeObject(t, "{metadata: {name: a, namespace: shop, labels: {app: web}}, spec: {}}")}
	if a := mustAnswer(t, h, pod); !a.Allowed || len(a.Patch) > 0 {
		t.Errorf("a pod gets the gate of another namespace: %s", a.Patch)
	}
}

// TestAdmissionSurvivesHostileObjects checks that objects of a wrong kind or with unexpected content cause neither a panic
// nor an HTTP error 5xx.
func TestAdmissionSurvivesHostileObjects(t *testing.T) {
	c := testConfig(newStore(t, otherTenantObjects))
	c.Panics = prometheus.NewCounter(prometheus.CounterOpts{Name: "panics"})
	defer func() {
		if n := testutil.ToFloat64(c.Panics); n > 0 {
			t.Errorf("%v panics", n)
		}
	}()
	h := newTestHandler(c)
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for _, e := range webhook.Endpoints(c) {
		for _, raw := range []string{
			`null`, `[]`, `1`, `"x"`, `{}`, `{"metadata":null,"spec":null}`, `{"spec":{"rules":[null,{"http":null},{"http":{"paths":[null]}}],"defaultBackend":{}}}`,
			`{"metadata":{"annotations":{"alb.ingress.kubernetes.io/actions.":"x","alb.ingress.kubernetes.io/listen-ports":` + fmt.Sprintf("%q", deep) + `}},"spec":{"ingressClassName":"alb"}}`,
			`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[null,{}],"readinessGates":[{}]}}`, deep,
		} {
			for _, op := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT", ""} {
				body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7a6f","operation":%q,"namespace":"shop","object":%s,"oldObject":%s}}`, op, raw, raw)
				req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, e.Path, strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				if w.Code >= 500 {
					t.Errorf("%s %s of %.60s: HTTP %d %s", e.Path, op, raw, w.Code, w.Body)
				}
			}
		}
	}
}

// TestLargeIngressValidationUsesLittleMemory checks that the validation of a very large Ingress allocates at most 100 MiB of
// memory, and that the warnings about it are few and printable.
func TestLargeIngressValidationUsesLittleMemory(t *testing.T) {
	var ports []string
	var paths []any
	for i := range 1000 {
		ports = append(ports, fmt.Sprintf(`{"HTTP":%d}`, 10000+i))
	}
	for i := range 4000 {
		paths = append(paths, map[string]any{"path": fmt.Sprintf("/p%d", i), "pathType": "Exact", "backend": map[string]any{"service": map[string]any{"name": "none", "port": map[string]any{"number": 80}}}})
	}
	tags := strings.Repeat("aws:\x1b[2J\n=x,", 5000) + "a=b"
	for name, notes := range map[string]map[string]any{
		"ports": {"alb.ingress.kubernetes.io/listen-ports": "[" + strings.Join(ports, ",") + "]"},
		"paths": {"alb.ingress.kubernetes.io/target-type": "ip"},
		"tags":  {"alb.ingress.kubernetes.io/tags": tags, "alb.ingress.kubernetes.io/inbound-cidrs": strings.Repeat("x\n", 50_000)},
	} {
		h := newTestHandler(testConfig(newStore(t, otherTenantObjects)))
		q := testRequest{Path: webhook.PathIngress, Operation: admissionv1.Create, Namespace: "team", Object: map[string]any{
			"metadata": map[string]any{"name": "huge", "annotations": notes},
			"spec":     map[string]any{"ingressClassName": "alb", "rules": []any{map[string]any{"host": "a.example.com", "http": map[string]any{"paths": paths}}}},
		}}
		size, err := json.Marshal(q.Object)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := mustAnswer(t, h, q)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%s: %d MiB are allocated for an object of %d KiB", name, used>>20, len(size)>>10)
		} else {
			t.Logf("%s: %d MiB for %d KiB", name, used>>20, len(size)>>10)
		}
		if len(a.Warnings) > 20 {
			t.Errorf("%s: %d warnings", name, len(a.Warnings))
		}
		for _, w := range a.Warnings {
			if strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s: %.200q", name, w)
			}
		}
	}
}
