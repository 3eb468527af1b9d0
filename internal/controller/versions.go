package controller

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// standardKinds returns the kinds of the Gateway API itself that the gates ask for.
func standardKinds(g config.Gates) []cluster.Kind {
	return slices.DeleteFunc(wantedGatewayKinds(g), func(k cluster.Kind) bool {
		typ, _ := cluster.TypeOf(k)
		return typ.GVK.Group != gwv1.GroupName
	})
}

// Versions are the versions of the Gateway API that its CRDs are of, as they were read last. The zero value knows none.
type Versions struct {
	found atomic.Pointer[map[string]string]
}

// Get returns them by the name of the CRD; nil if they could not be read.
func (v *Versions) Get() map[string]string {
	if found := v.found.Load(); found != nil {
		return *found
	}
	return nil
}

// Set notes them; nil if they cannot be read.
func (v *Versions) Set(found map[string]string) {
	if found == nil {
		v.found.Store(nil)
		return
	}
	v.found.Store(&found)
}

// versionsWatch keeps Versions up to date.
type versionsWatch struct {
	read  func(context.Context) (map[string]string, error)
	to    *Versions
	again func(context.Context) error // has GatewayClasses looked at again
	log   logr.Logger

	reported string // the failure that was logged last
}

// readVersions reads the versions. What may not be read is unknown, because the cluster may have changed. Any other
// failure passes, and changes nothing that is known.
func (w *versionsWatch) readVersions(ctx context.Context) error {
	found, err := w.read(ctx)
	text := ""
	if err != nil {
		found, text = nil, err.Error()
	}
	if text != w.reported {
		w.reported = text
		if err != nil {
			w.log.Info("failed to read versions of the Gateway API", "err", text)
		}
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil
	}
	if before := w.to.Get(); (before == nil) == (found == nil) && maps.Equal(before, found) {
		return nil
	}
	w.to.Set(found)
	return w.again(ctx)
}

// run looks from time to time until the process ends.
func (w *versionsWatch) run(ctx context.Context) error {
	tick := time.NewTicker(durations.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := w.readVersions(ctx); err != nil && ctx.Err() == nil {
			w.log.Error(err, "failed to look at GatewayClasses again")
		}
	}
}
