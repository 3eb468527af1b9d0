package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Ending implements cluster.Definer.
func (s *Source) Ending(kind cluster.Kind) (bool, error) {
	if s.Lookups == nil {
		return false, nil
	}
	return s.Lookups.ending(s.ctx, kind)
}

// endingFor is for how long the state of a definition counts: all objects of a kind that is being deleted ask at once.
const endingFor = 10 * time.Second

// endingAnswer is whether a definition is being deleted.
type endingAnswer struct {
	ending bool
	at     time.Time
}

// ending reports whether the definition of a kind is being deleted, or is gone. One that may not be read counts as there.
func (l *Lookups) ending(ctx context.Context, kind cluster.Kind) (bool, error) {
	typ, ok := cluster.TypeOf(kind)
	if !ok {
		return false, fmt.Errorf("kind %s cannot be read", kind)
	}
	l.asking.Lock() // one call for all that ask meanwhile
	defer l.asking.Unlock()
	now := l.now()
	if a, known := l.endings[kind]; known && now.Sub(a.at) < endingFor {
		return a.ending, nil
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: definitions.Group, Version: definitions.Version, Kind: "CustomResourceDefinition"})
	call, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	name := definitionOf(typ.GVK)
	switch err := l.live.Get(call, client.ObjectKey{Name: name}, crd); {
	case err == nil:
		l.endings[kind] = endingAnswer{crd.DeletionTimestamp != nil, now}
	case apierrors.IsNotFound(err):
		l.endings[kind] = endingAnswer{true, now}
	case apierrors.IsForbidden(err):
		l.endings[kind] = endingAnswer{false, now}
	default:
		return false, fmt.Errorf("read CRD %s: %w", name, err)
	}
	return l.endings[kind].ending, nil
}
