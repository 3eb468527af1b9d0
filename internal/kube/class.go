package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// errTaken is returned if an object of the desired name exists and cannot get the desired form yet.
var errTaken = errors.New("an object of this name still exists")

// Classify sorts an error of the Kubernetes API into what to do next.
func Classify(err error) engine.Class {
	switch {
	case errors.Is(err, errFenced):
		return engine.Fenced
	case errors.Is(err, errTaken):
		return engine.InUse
	case apierrors.IsConflict(err):
		return engine.Conflict
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return engine.Gone
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return engine.Denied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return engine.Invalid
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err):
		return engine.Throttled
	case apierrors.IsAlreadyExists(err):
		return engine.Conflict
	}
	return engine.Unknown
}
