package webhook

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
