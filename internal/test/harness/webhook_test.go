package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/txtar"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
	"github.com/fulcrum-lb/fulcrum/internal/webhook/testdata"
)

// admissionRequest is a request to a webhook, as in the file questions.yaml of the golden tests of package webhook.
type admissionRequest struct {
	Path      string                `json:"path"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	Object    map[string]any        `json:"object"`
	Old       map[string]any        `json:"old"`
}

// webhookDependencies implements the interfaces in the configuration of the webhooks, with constant results.
type webhookDependencies struct{}

// Claim implements webhook.WorkerNumbers.
func (webhookDependencies) Claim(context.Context) (uint32, error) { return 1, nil }

// IntN implements webhook.Random.
func (webhookDependencies) IntN(int) int { return 0 }

// AgentConfig implements webhook.AgentConfigs.
func (webhookDependencies) AgentConfig(context.Context, string) (*v1beta1.ALBTargetControlConfig, error) {
	return &v1beta1.ALBTargetControlConfig{}, nil
}

// webhooks returns the configuration of the webhooks of the harness's controller, with all features enabled.
func (r *Harness) webhooks() webhook.Config {
	return webhook.Config{
		Source: r.Store, Ingress: r.process.frontend, ReadinessGates: true, LoadBalancerClass: "service.k8s.aws/nlb",
		ServerIDs:        &webhook.ServerIDGenerator{WorkerNumbers: webhookDependencies{}, Clock: clock.RealClock{}, Random: webhookDependencies{}},
		ServerIDVariable: "AWS_LBC_QUIC_SERVER_ID",
		AgentConfigs:     webhookDependencies{},
		Log:              logr.Discard(), Metrics: webhook.NewMetrics(),
	}
}

// send sends q to h in an AdmissionReview, and returns the HTTP status code.
func (q admissionRequest) send(t *testing.T, h http.Handler) int {
	t.Helper()
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{Operation: q.Operation, Namespace: q.Namespace}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	for raw, object := range map[*runtime.RawExtension]map[string]any{&review.Request.Object: q.Object, &review.Request.OldObject: q.Old} {
		var err error
		if raw.Raw, err = json.Marshal(object); err != nil {
			t.Fatal(err)
		}
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, q.Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}

// TestWebhooksMakeNoCallToAWS checks that the webhooks answer the requests of all their golden tests without AWS calls.
func TestWebhooksMakeNoCallToAWS(t *testing.T) {
	files, err := testdata.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, bindingTo(r.Seeded.TargetGroups["external"]))
		r.Settle(time.Minute)
		handlers := map[string]http.Handler{}
		for _, e := range webhook.Endpoints(r.webhooks()) {
			handlers[e.Path] = e.Handler
		}
		calls, asked := r.Emulator.Calls().Total(), map[string]int{}
		for _, file := range files {
			data, err := testdata.Files.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range txtar.Parse(data).Files {
				if f.Name != "questions.yaml" {
					continue
				}
				for doc := range strings.SplitSeq(string(f.Data), "\n---\n") {
					var q admissionRequest
					if err := yaml.Unmarshal([]byte(doc), &q); err != nil {
						t.Fatal(err)
					}
					asked[q.Path]++
					if code := q.send(t, handlers[q.Path]); code != http.StatusOK {
						t.Errorf("%s: HTTP %d", q.Path, code)
					}
				}
			}
		}
		for path := range handlers {
			if asked[path] == 0 {
				t.Errorf("no golden test has a request to %s", path)
			}
		}
		if n := r.Emulator.Calls().Total() - calls; n != 0 {
			t.Errorf("%d AWS calls", n)
		}
	})
}

// TestBindingIsValidatedWithoutWebhook checks that without webhooks the controller sets missing fields of a
// TargetGroupBinding, and reports a TargetGroupBinding with another IP address type than its target group.
func TestBindingIsValidatedWithoutWebhook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		arn := r.Seeded.TargetGroups["external"]
		complete := bindingTo(arn)
		r.Apply(shop, readyPods("web", podAddresses[0]), strings.NewReplacer("targetGroupARN: "+arn, "targetGroupName: external", "  targetType: ip\n", "").Replace(complete))
		r.settleOrFail(time.Minute)
		s := bindingsOf(r, "shop")[0].Spec
		if s.TargetGroupARN != arn || s.TargetType == nil || *s.TargetType != "ip" || s.VpcID != r.Seeded.VPC {
			t.Errorf("spec %+v", s)
		}
		expectEqual(t, "targets", podAddresses[0]+" us-west-2a", activeTargetsWithZones(t, r, arn))
		r.Apply(bindingTo(arn, "ipAddressType: ipv6"))
		r.settleOrFail(time.Minute)
		c := bindingsOf(r, "shop")[0].Status.Conditions
		if len(c) != 1 || !strings.Contains(c[0].Message, string(finding.TargetGroupDiffers)) {
			t.Errorf("conditions %+v", c)
		}
		expectEqual(t, "targets of a wrong address type", podAddresses[0]+" us-west-2a", activeTargetsWithZones(t, r, arn))
	})
}
