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

// endingAnswer is whether a definition is being deleted.
type endingAnswer struct {
	ending bool
	at     time.Time
}

// ending reports whether the definition of a kind is being deleted, or is gone. One that may not be read counts as there.
// The answer is the same for the other objects of the kind, which are deleted with it.
func (l *Lookups) ending(ctx context.Context, kind cluster.Kind) (bool, error) {
	typ, ok := cluster.TypeOf(kind)
	if !ok {
		return false, fmt.Errorf("kind %s cannot be read", kind)
	}
	l.mu.Lock()
	now := l.now()
	a, known := l.endings[kind]
	l.mu.Unlock()
	if known && now.Sub(a.at) < answerFor {
		return a.ending, nil
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: definitions.Group, Version: definitions.Version, Kind: "CustomResourceDefinition"})
	call, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	name := definitionOf(typ.GVK)
	err := l.live.Get(call, client.ObjectKey{Name: name}, crd)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return false, fmt.Errorf("read CRD %s: %w", name, err)
	}
	ending := apierrors.IsNotFound(err) || crd.DeletionTimestamp != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endings[kind] = endingAnswer{ending, now}
	return ending, nil
}
