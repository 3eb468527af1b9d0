package controller

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TestChangedVersionsEnqueueGatewayClasses checks that GatewayClasses are enqueued again only when the versions of CRDs
// change, become available or may no longer be read.
func TestChangedVersionsEnqueueGatewayClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex // virtual time orders the goroutines, but the race detector does not see this order
		var live map[string]string
		var fault error
		times := 0
		w := &versionsWatch{
			versions: &Versions{}, log: logr.Discard(),
			read: func(context.Context) (map[string]string, error) {
				mu.Lock()
				defer mu.Unlock()
				return live, fault
			},
			reconcileClasses: func(context.Context) error { times++; return nil },
		}
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "a", errors.New("no role allows it"))
		go func() { _ = w.run(ctx) }()
		for _, c := range []struct {
			live  map[string]string
			fault error
			want  map[string]string
			times int
		}{
			{map[string]string{}, nil, map[string]string{}, 1},
			{map[string]string{"a": "v1.6.3"}, nil, map[string]string{"a": "v1.6.3"}, 2},
			{map[string]string{"a": "v1.6.3"}, nil, map[string]string{"a": "v1.6.3"}, 2},
			{nil, errors.New("connection refused"), map[string]string{"a": "v1.6.3"}, 2},
			{nil, forbidden, nil, 3},
			{nil, forbidden, nil, 3},
			{nil, errors.New("connection refused"), nil, 3},
			{map[string]string{"a": "v1.7.0"}, nil, map[string]string{"a": "v1.7.0"}, 4},
		} {
			mu.Lock()
			live, fault = c.live, c.fault
			mu.Unlock()
			time.Sleep(durations.SweepInterval)
			synctest.Wait()
			if got := w.versions.Get(); (got == nil) != (c.want == nil) || !maps.Equal(got, c.want) || times != c.times {
				t.Errorf("%v, %v: %v after %d times, want %v after %d", c.live, c.fault, got, times, c.want, c.times)
			}
		}
		stop()
	})
}
