package controller

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// standardGatewayKinds returns the kinds of the API group gateway.networking.k8s.io that the feature gates enable.
func standardGatewayKinds(g config.Gates) []cluster.Kind {
	return slices.DeleteFunc(wantedGatewayKinds(g), func(k cluster.Kind) bool {
		typ, _ := cluster.TypeOf(k)
		return typ.GVK.Group != gwv1.GroupName
	})
}

// Versions has the versions of the installed Gateway API CRDs, as they were last read. The zero value has no versions.
// Versions is safe for concurrent use.
type Versions struct {
	found atomic.Pointer[map[string]string]
}

// Get returns the versions by the name of the CRD, or nil if they could not be read. The map must not be changed.
func (v *Versions) Get() map[string]string {
	if found := v.found.Load(); found != nil {
		return *found
	}
	return nil
}

// Set replaces the versions. nil means that the versions cannot be read.
func (v *Versions) Set(found map[string]string) { v.found.Store(&found) }

// versionsWatch reads the versions of the Gateway API periodically, and reconciles all GatewayClasses when they have
// changed.
type versionsWatch struct {
	read             func(context.Context) (map[string]string, error)
	versions         *Versions
	reconcileClasses func(context.Context) error // enqueues all GatewayClasses
	log              logr.Logger

	loggedFailure string // the failure that was logged last
}

// readVersions reads the versions. If this process has no permission to read them, the stored versions are removed, because
// they may be out of date. After any other failure, the stored versions are retained, because the failure is transient.
func (w *versionsWatch) readVersions(ctx context.Context) error {
	found, err := w.read(ctx)
	text := ""
	if err != nil {
		found, text = nil, err.Error()
	}
	if text != w.loggedFailure {
		w.loggedFailure = text
		if err != nil {
			w.log.Info("failed to read versions of the Gateway API", "err", text)
		}
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil
	}
	if before := w.versions.Get(); (before == nil) == (found == nil) && maps.Equal(before, found) {
		return nil
	}
	w.versions.Set(found)
	return w.reconcileClasses(ctx)
}

// run calls readVersions periodically until ctx ends.
func (w *versionsWatch) run(ctx context.Context) error {
	for pause(ctx, durations.SweepInterval) {
		if err := w.readVersions(ctx); err != nil && ctx.Err() == nil {
			w.log.Error(err, "failed to enqueue GatewayClasses")
		}
	}
	return nil
}
