package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// roundTripFunc is an HTTP transport that answers requests itself, in place of an API server.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func jsonResponse(t *testing.T, code int, body any) *http.Response {
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Response{
		StatusCode: code, Body: io.NopCloser(bytes.NewReader(data)),
		Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
	}
}

// fenceFunc is a fence whose state a test controls.
type fenceFunc func() error

// CheckFence implements engine.Fence.
func (f fenceFunc) CheckFence() error { return f() }

// newFencedCluster returns a Cluster whose client sends requests to serve, and checks fence before each write.
func newFencedCluster(t *testing.T, serve roundTripFunc, fence fenceFunc) *Cluster {
	t.Helper()
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(networkingv1.SchemeGroupVersion.WithKind("Ingress"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://api.test", QPS: -1}, client.Options{
		Scheme: store.Scheme(), Mapper: mapper, HTTPClient: FencedClient(&http.Client{Transport: serve}, fence),
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(store, ClientAPI{c}, clock.RealClock{})
}

// TestNoRetryAfterTheFenceIsClosed checks that a refused write is not retried after the lease is lost: neither if the API
// server was busy, nor if another client changed the object. While the lease is held, the write is retried.
func TestNoRetryAfterTheFenceIsClosed(t *testing.T) {
	refusals := map[string]metav1.Status{
		"the API server is busy":     {Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
		"another client has written": {Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
	}
	for name, refusal := range refusals {
		for _, falls := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					lost, writes := false, 0
					c := newFencedCluster(t, func(r *http.Request) (*http.Response, error) {
						ing := newIngress()
						ing.TypeMeta = metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}
						if r.Method == http.MethodGet {
							return jsonResponse(t, http.StatusOK, ing), nil
						}
						if _, err := io.ReadAll(r.Body); err != nil {
							return nil, err
						}
						if writes++; writes > 1 {
							return jsonResponse(t, http.StatusOK, ing), nil
						}
						lost = falls
						return jsonResponse(t, int(refusal.Code), refusal), nil
					}, func() error {
						if lost {
							return errNotLeader
						}
						return nil
					})
					err := applyStep(t, c, plan.ClaimFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil)
					if !falls {
						if err != nil || writes != 2 {
							t.Errorf("with the lease held: %d writes, %v", writes, err)
						}
						return
					}
					if got := c.Class(err); got != failure.Fenced || !errors.Is(err, errNotLeader) || writes != 1 {
						t.Errorf("want class %v after 1 write, got %v after %d: %v", failure.Fenced, got, writes, err)
					}
				})
			})
		}
	}
}

// TestNoBodyIsSentAfterTheFenceIsClosed checks that the body of a write is not sent if the lease is lost while the
// connection is opened.
func TestNoBodyIsSentAfterTheFenceIsClosed(t *testing.T) {
	lost := false
	c := newFencedCluster(t, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			ing := newIngress()
			ing.TypeMeta = metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}
			return jsonResponse(t, http.StatusOK, ing), nil
		}
		lost = true // the lease is lost while the connection is opened
		if body, err := io.ReadAll(r.Body); err == nil {
			t.Errorf("sent %s", body)
		}
		return nil, errors.New("connection reset by peer")
	}, func() error {
		if lost {
			return errNotLeader
		}
		return nil
	})
	if err := applyStep(t, c, plan.ClaimFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil); err == nil {
		t.Error("the write succeeded")
	}
}

// TestRequestsHaveADeadline checks that a request that the API server does not answer ends after durations.RequestTimeout.
func TestRequestsHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, unanswered := range []string{http.MethodGet, http.MethodPatch} {
			sent := false
			c := newFencedCluster(t, func(r *http.Request) (*http.Response, error) {
				if r.Method != unanswered {
					ing := newIngress()
					ing.TypeMeta = metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}
					return jsonResponse(t, http.StatusOK, ing), nil
				}
				sent = true
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}, func() error { return nil })
			start := time.Now()
			err := applyStep(t, c, plan.ClaimFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil)
			if took := time.Since(start); err == nil || !sent || took != durations.RequestTimeout {
				t.Errorf("%s: got %v after %v", unanswered, err, took)
			}
		}
	})
}
