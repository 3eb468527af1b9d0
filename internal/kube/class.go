package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

// errNameTaken is returned if the desired name belongs to an object that cannot be changed into the desired object.
var errNameTaken = errors.New("an object of this name still exists")

// Class implements engine.Cluster. It returns the class of an error of the API server.
func (c *Cluster) Class(err error) failure.Class {
	switch {
	case errors.Is(err, errFenced):
		return failure.Fenced
	case errors.Is(err, errNameTaken):
		return failure.InUse
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
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
	}
	return failure.Unknown
}
