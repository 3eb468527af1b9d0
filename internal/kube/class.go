package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// errNameTaken is returned if an object of the desired name exists that cannot be changed into the desired one.
var errNameTaken = errors.New("an object of this name still exists")

// Classify returns the class of an error of the Kubernetes API, which decides what the engine does next.
func Classify(err error) failure.Class {
	switch {
	case errors.Is(err, errFenced):
		return failure.Fenced
	case errors.Is(err, errNameTaken):
		return failure.InUse
	case apierrors.IsConflict(err):
		return failure.Conflict
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return failure.Gone
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return failure.Denied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return failure.Invalid
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err):
		return failure.Throttled
	case apierrors.IsAlreadyExists(err):
		return failure.Conflict
	}
	return failure.Unknown
}
