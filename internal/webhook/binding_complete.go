package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// mutateBinding denies a new binding that names no target group. In an update that removes the ARN, it restores the ARN,
// because the controller finds targets by the ARN. Other empty fields are set later by the controller.
func (c Config) mutateBinding(_ context.Context, r Request) (Response, error) {
	b := &v1beta1.TargetGroupBinding{}
	if err := r.decode(r.Object, b); err != nil {
		return Response{}, err
	}
	if b.DeletionTimestamp != nil {
		return Response{}, nil
	}
	if r.Operation == admissionv1.Update {
		old := &v1beta1.TargetGroupBinding{}
		if err := r.decode(r.Old, old); err != nil {
			return Response{}, err
		}
		return restoreARN(b, old), nil
	}
	if b.Spec.TargetGroupARN == "" && b.Spec.TargetGroupName == "" {
		return deny(arnOrNameCheck, "spec: either targetGroupARN or targetGroupName must be set"), nil
	}
	return Response{}, nil
}

// restoreARN returns an answer that restores the ARN of a binding if the update removes it. If the update names another
// target group, the answer changes nothing, and validateBinding denies the update.
func restoreARN(b, old *v1beta1.TargetGroupBinding) Response {
	oldARN, name := old.Spec.TargetGroupARN, b.Spec.TargetGroupName
	if b.Spec.TargetGroupARN != "" || oldARN == "" || name == "" || name != old.Spec.TargetGroupName && name != nameFromARN(oldARN) {
		return Response{}
	}
	return Response{Changes: []PatchOperation{newSetChange("/spec/targetGroupARN", oldARN)}}
}
