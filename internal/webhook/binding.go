package webhook

import "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"

// The checks of TargetGroupBindings, as metrics name them. What only AWS knows is not checked here, because an admission
// that waits for AWS fails with AWS: the controller reports it about the binding.
const (
	checkARNOrName = "checkTargetGroupArnOrName"

	checkRequired  = "checkRequiredFields"
	checkImmutable = "checkImmutableFields"
	checkSelector  = "checkNodeSelector"
	checkExisting  = "checkExistingTargetGroups"
	checkVPC       = "checkTargetGroupVpcID"
	checkRole      = "checkAssumeRoleConfig"
	checkProtocol  = "checkTargetGroupProtocol"
)

func bindingOf(r Request, raw []byte) (*v1beta1.TargetGroupBinding, error) {
	b := &v1beta1.TargetGroupBinding{}
	if err := decode(raw, b); err != nil {
		return nil, err
	}
	b.Namespace = r.Namespace
	return b, nil
}
