package kube

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// definitionServer is an http.RoundTripper that answers each request with the same status code and body, and records the
// requests.
type definitionServer struct {
	code  int
	body  string
	calls atomic.Int64
	path  atomic.Pointer[string]
}

func (s *definitionServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.calls.Add(1)
	s.path.Store(&r.URL.Path)
	return &http.Response{StatusCode: s.code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(s.body)), Request: r}, nil
}

// TestDefinition checks what Definition returns for a CRD that is being deleted, does not exist, lacks a field of spec, or
// cannot be read. If the permission to read the CRD is missing, the result is empty. The result is cached.
func TestDefinition(t *testing.T) {
	t.Parallel()
	status := func(reason string, code string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","code":` + code + `}`
	}
	crd := func(more string) string {
		return `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"globalaccelerators.aga.k8s.aws"` + more + `}`
	}
	schemaOf := func(version, spec string) string {
		return `,"spec":{"versions":[{"name":"v1"},{"name":"` + version + `","schema":{"openAPIV3Schema":{"properties":{"spec":` + spec + `}}}}]}`
	}
	for name, c := range map[string]struct {
		code   int
		body   string
		ending bool
		drops  bool // whether the schema of spec lacks the field "listeners"
		err    string
	}{
		"there":             {code: 200, body: crd("")},
		"being deleted":     {code: 200, body: crd(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`), ending: true},
		"with the field":    {code: 200, body: crd("") + schemaOf("v1beta1", `{"properties":{"listeners":{"type":"array"}}}`)},
		"without the field": {code: 200, body: crd("") + schemaOf("v1beta1", `{"properties":{"name":{"type":"string"}}}`), drops: true},
		"all fields":        {code: 200, body: crd("") + schemaOf("v1beta1", `{"properties":{},"x-kubernetes-preserve-unknown-fields":true}`)},
		"no properties":     {code: 200, body: crd("") + schemaOf("v1beta1", `{"type":"object"}`)},
		"another version":   {code: 200, body: crd("") + schemaOf("v1beta2", `{"properties":{"name":{"type":"string"}}}`)},
		"gone":              {code: 404, body: status("NotFound", "404"), ending: true},
		"may not be read":   {code: 403, body: status("Forbidden", "403")},
		"cannot be read":    {code: 500, body: status("InternalError", "500"), err: "read CRD globalaccelerators.aga.k8s.aws"},
		"no answer in JSON": {code: 200, body: "{", err: "read CRD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(c.body, `{"kind":"Custom`) {
				c.body += "}"
			}
			s := &definitionServer{code: c.code, body: c.body}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, meta.RESTScopeRoot)
			scheme, err := cluster.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			live, err := client.New(&rest.Config{Host: "http://api.test", QPS: -1, Transport: s}, client.Options{Scheme: scheme, Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			l := NewLookups(live, testclock.FromVariable(&now))
			for range 3 {
				got, err := l.definition(t.Context(), cluster.KindGlobalAccelerator)
				if got.MissingOrDeleting != c.ending || got.DropsSpecField("listeners") != c.drops || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("%+v, %v", got, err)
				}
			}
			if want := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/globalaccelerators.aga.k8s.aws"; *s.path.Load() != want {
				t.Errorf("path %s", *s.path.Load())
			}
			if n := s.calls.Load(); c.err == "" && n != 1 {
				t.Errorf("%d calls for three answers", n)
			}
			now = now.Add(durations.BriefWait)
			s.code, s.body = 200, crd("")+"}"
			if got, err := l.definition(t.Context(), cluster.KindGlobalAccelerator); got.MissingOrDeleting || got.DropsSpecField("listeners") || err != nil {
				t.Errorf("later %+v, %v", got, err)
			}
		})
	}
}

// TestOnlyReferencedIngressIsLookedUp checks that an Ingress that is missing in the cache is read from the API server only
// if another object references it. A stack may have no Ingress of its name, so other reads do not call the API server.
func TestOnlyReferencedIngressIsLookedUp(t *testing.T) {
	t.Parallel()
	made := &networkingv1.Ingress{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web.front"}}
	s := &serviceServer{ingress: made}
	_, source, synced := startInformer(t, cluster.KindIngress, rights.KubernetesRoles)
	source.Lookups, _ = newLookups(t, s)
	<-synced
	v := cluster.NewView(source)
	if _, ok := cluster.Get[*networkingv1.Ingress](v, cluster.KindIngress, "n", "web.front"); ok || v.Err() != nil || s.requests() != "" {
		t.Errorf("found %t, %v, asked for %q", ok, v.Err(), s.requests())
	}
	if got, ok := cluster.GetReferenced[cluster.Object](v, made, cluster.KindIngress, "n", "web.front"); !ok || got.GetName() != "web.front" || v.Err() != nil || s.requests() != "n/web.front" {
		t.Errorf("found %t, %v, asked for %q", ok, v.Err(), s.requests())
	}
	s.update(func() { s.failureCode = http.StatusInternalServerError })
	if _, ok := cluster.GetReferenced[cluster.Object](v, made, cluster.KindIngress, "n", "other"); ok || v.Err() == nil {
		t.Error("a read that failed counts as an Ingress that does not exist")
	}
}
