package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// errNameTaken is returned if an object of the desired name exists that cannot be changed into the desired one.
var errNameTaken = errors.New("an object of this name still exists")

// Classify returns the class of an error of the Kubernetes API, which decides what the engine does next.
func Classify(err error) engine.Class {
	switch {
	case errors.Is(err, errFenced):
		return engine.Fenced
	case errors.Is(err, errNameTaken):
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
