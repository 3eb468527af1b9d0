package webhook

import "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"

// The names of the checks of TargetGroupBindings in metrics. The webhook makes no checks that need AWS, because admission
// would fail while AWS does not answer. The controller makes these checks, and reports their results in events of the
// binding.
const (
	arnOrNameCheck = "checkTargetGroupArnOrName"

	requiredFieldsCheck       = "checkRequiredFields"
	immutableFieldsCheck      = "checkImmutableFields"
	nodeSelectorCheck         = "checkNodeSelector"
	existingTargetGroupsCheck = "checkExistingTargetGroups"
	vpcIDCheck                = "checkTargetGroupVpcID"
	assumedRoleCheck          = "checkAssumeRoleConfig"
	protocolCheck             = "checkTargetGroupProtocol"
)

// bindingOf decodes raw, the new or the old TargetGroupBinding of a request. Its namespace is that of the request.
func bindingOf(r Request, raw []byte) (*v1beta1.TargetGroupBinding, error) {
	b := &v1beta1.TargetGroupBinding{}
	if err := decode(raw, b); err != nil {
		return nil, err
	}
	b.Namespace = r.Namespace
	return b, nil
}
