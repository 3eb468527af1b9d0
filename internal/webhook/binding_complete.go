package webhook

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// completeBinding refuses a new binding that names no target group, and gives an update back an ARN that it removes:
// the name alone does not find targets. What a binding leaves open beyond that, the controller fills in.
func (c Config) completeBinding(_ context.Context, r Request) (Answer, error) {
	b, err := bindingOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	if b.DeletionTimestamp != nil {
		return Answer{}, nil
	}
	if r.Operation == admissionv1.Update {
		old, err := bindingOf(r, r.Old)
		if err != nil {
			return Answer{}, err
		}
		return restoreARN(b, old), nil
	}
	if b.Spec.TargetGroupARN == "" && b.Spec.TargetGroupName == "" {
		return deny(checkARNOrName, "spec: either targetGroupARN or targetGroupName must be given"), nil
	}
	return Answer{}, nil
}

// restoreARN changes nothing where the update names another target group; the validation denies that.
func restoreARN(b, old *v1beta1.TargetGroupBinding) Answer {
	was, name := old.Spec.TargetGroupARN, b.Spec.TargetGroupName
	if b.Spec.TargetGroupARN != "" || was == "" || name == "" || name != old.Spec.TargetGroupName && name != nameFromARN(was) {
		return Answer{}
	}
	return Answer{Changes: []Change{setChange("/spec/targetGroupARN", was)}}
}
