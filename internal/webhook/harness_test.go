package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// newStore returns a cluster in memory with the objects of YAML documents.
func newStore(t testing.TB, docs string) *cluster.Memory {
	t.Helper()
	m, err := cluster.MemoryFromYAML(nil, []byte(docs))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// testConfig returns the configuration of a controller with default flags.
func testConfig(src cluster.Source) webhook.Config {
	return webhook.Config{
		Source: src, Ingress: ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}),
		ReadinessGates: true, Log: logr.Discard(), Metrics: webhook.NewMetrics(),
	}
}

// testRequest is an admission request to the webhook at Path.
type testRequest struct {
	Path      string                `json:"path"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	Object    map[string]any        `json:"object"`
	Old       map[string]any        `json:"old"`
}

// newTestHandler returns a handler with all webhook paths of a configuration.
func newTestHandler(c webhook.Config) http.Handler {
	mux := http.NewServeMux()
	for _, e := range webhook.Endpoints(c) {
		mux.Handle(e.Path, e.Handler)
	}
	return mux
}

// sendReview sends an AdmissionReview as the API server does.
func sendReview(t testing.TB, h http.Handler, q testRequest) *httptest.ResponseRecorder {
	t.Helper()
	raw := func(o map[string]any) runtime.RawExtension {
		if o == nil {
			return runtime.RawExtension{}
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: data}
	}
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: types.UID("7a6f"), Operation: q.Operation, Namespace: q.Namespace, Object: raw(q.Object), OldObject: raw(q.Old),
	}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, q.Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// mustAnswer sends a request and returns the answer. The test fails if the HTTP status is not 200.
func mustAnswer(t testing.TB, h http.Handler, q testRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	w := sendReview(t, h, q)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: HTTP %d: %s", q.Path, w.Code, w.Body)
	}
	return decodeAnswer(t, w)
}

// decodeAnswer decodes the answer to a review.
func decodeAnswer(t testing.TB, w *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		t.Fatal(err)
	}
	if review.Response == nil || review.Response.UID != "7a6f" || review.APIVersion != "admission.k8s.io/v1" {
		t.Fatalf("not an answer to the review: %s", w.Body)
	}
	return review.Response
}

// applyPatch returns the object of a request after the patch of the answer.
func applyPatch(t testing.TB, q testRequest, a *admissionv1.AdmissionResponse) map[string]any {
	t.Helper()
	patch, err := jsonpatch.DecodePatch(a.Patch)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(q.Object)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = patch.Apply(data); err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// decodeObject decodes a YAML document.
func decodeObject(t testing.TB, doc string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.UnmarshalStrict([]byte(doc), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
