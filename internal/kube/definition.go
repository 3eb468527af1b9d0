package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Definition implements cluster.DefinitionSource.
func (s *Source) Definition(kind cluster.Kind) (cluster.Definition, error) {
	if s.Lookups == nil {
		return cluster.Definition{}, nil
	}
	return s.Lookups.definition(s.ctx, kind)
}

// cachedDefinition is the Definition of a kind, with the time at which its CRD was read.
type cachedDefinition struct {
	cluster.Definition
	readAt time.Time
}

// definition reads the CRD of a kind. It returns an empty definition if the permission to read the CRD is missing. The
// result is cached for durations.BriefWait, because many objects of one kind need the definition at the same time.
func (l *Lookups) definition(ctx context.Context, kind cluster.Kind) (cluster.Definition, error) {
	typ, ok := cluster.TypeOf(kind)
	if !ok {
		return cluster.Definition{}, fmt.Errorf("kind %q is not in the table of kinds that the controller reads", kind)
	}
	l.mu.Lock()
	now := l.clock.Now()
	cached, known := l.definitions[kind]
	l.mu.Unlock()
	if known && now.Sub(cached.readAt) < durations.BriefWait {
		return cached.Definition, nil
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: crdResource.Group, Version: crdResource.Version, Kind: "CustomResourceDefinition"})
	call, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	name := crdName(typ.GVK)
	err := l.live.Get(call, client.ObjectKey{Name: name}, crd)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return cluster.Definition{}, fmt.Errorf("read CRD %s: %w", name, err)
	}
	out := cluster.Definition{MissingOrDeleting: apierrors.IsNotFound(err) || crd.GetDeletionTimestamp() != nil}
	if err == nil {
		out.SpecFields = specFields(crd.Object, typ.GVK.Version)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.definitions[kind] = cachedDefinition{out, now}
	return out, nil
}

// specFields returns the fields of spec that the API server stores for a version of a CRD. It returns nil if the API server
// stores all fields, or if the CRD has no schema of spec for this version.
func specFields(crd map[string]any, version string) []string {
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, v := range versions {
		of, _ := v.(map[string]any)
		if of["name"] != version {
			continue
		}
		if all, _, _ := unstructured.NestedBool(of, "schema", "openAPIV3Schema", "properties", "spec", "x-kubernetes-preserve-unknown-fields"); all {
			return nil
		}
		fields, found, err := unstructured.NestedMap(of, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		if !found || err != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(fields))
	}
	return nil
}
