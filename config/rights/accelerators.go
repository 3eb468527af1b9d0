package rights

// GateAccelerators is the flag that enables GlobalAccelerators.
const GateAccelerators = "--feature-gates=GlobalAcceleratorController=true"

// ScenarioAccelerators is the scenario in which the controller creates, changes and deletes an accelerator. The value is the
// package and the name of the test.
const ScenarioAccelerators Scenario = "internal/test/harness TestWithoutPermissionOfAccelerators"

// The conditions on the tag that all accelerators of the controller have. Listeners and endpoint groups cannot have tags, so
// the tags of their accelerator apply.
var (
	requestHasAcceleratorTag  = Condition{"StringEquals", "aws:RequestTag/aga.k8s.aws/resource", []string{"GlobalAccelerator"}}
	resourceHasAcceleratorTag = Condition{"StringEquals", "aws:ResourceTag/aga.k8s.aws/resource", []string{"GlobalAccelerator"}}
)

var (
	acceleratorResources = []string{"globalaccelerator::*:accelerator/*"}
	// acceleratorParts are accelerators, their listeners and their endpoint groups.
	acceleratorParts = append(acceleratorResources[:1:1], acceleratorResources[0]+"/listener/*", acceleratorResources[0]+"/listener/*/endpoint-group/*")
)

// AcceleratorStatements is the table of additional AWS permissions for GlobalAccelerators. They are in a separate policy,
// because AWS Global Accelerator exists in only one partition. The controller does not use them while the feature gate is
// off.
var AcceleratorStatements = []Statement{
	{
		Sid: "AcceleratorServiceLinkedRole", Feature: GateAccelerators,
		Conditions: []Condition{{"StringEquals", "iam:AWSServiceName", []string{"globalaccelerator.amazonaws.com"}}},
		Actions: []Action{
			{"iam:CreateServiceLinkedRole", "allow Global Accelerator to create its service-linked role when an account gets its first accelerator", ScenarioAccelerators},
		},
	},
	{
		Sid: "ReadAccelerators", Feature: GateAccelerators,
		Actions: []Action{
			{"globalaccelerator:ListAccelerators", "find and compare accelerators, and check whether their changes are deployed", ScenarioAccelerators},
			{"globalaccelerator:ListEndpointGroups", "compare endpoint groups and endpoints, and read the health of endpoints", ScenarioAccelerators},
			{"globalaccelerator:ListListeners", "compare listeners", ScenarioAccelerators},
			{"globalaccelerator:ListTagsForResource", "determine which object an accelerator belongs to", ScenarioAccelerators},
		},
	},
	{
		Sid: "CreateAccelerators", Feature: GateAccelerators, Conditions: []Condition{requestHasClusterTag, requestHasAcceleratorTag},
		Actions: []Action{
			{"globalaccelerator:CreateAccelerator", "create accelerators", ScenarioAccelerators},
		},
	},
	{
		Sid: "ChangeOwnAccelerators", Feature: GateAccelerators, Resources: acceleratorParts, Conditions: []Condition{resourceHasClusterTag, resourceHasAcceleratorTag},
		Actions: []Action{
			{"globalaccelerator:AddEndpoints", "add endpoints to endpoint groups", ScenarioAccelerators},
			{"globalaccelerator:CreateEndpointGroup", "create endpoint groups", ScenarioAccelerators},
			{"globalaccelerator:CreateListener", "create listeners", ScenarioAccelerators},
			{"globalaccelerator:DeleteAccelerator", "delete accelerators that the controller has created", ScenarioAccelerators},
			{"globalaccelerator:DeleteEndpointGroup", "delete endpoint groups", ScenarioAccelerators},
			{"globalaccelerator:DeleteListener", "delete listeners", ScenarioAccelerators},
			{"globalaccelerator:RemoveEndpoints", "remove endpoints from endpoint groups", ScenarioAccelerators},
			{"globalaccelerator:UpdateAccelerator", "change the name and the address type, and disable an accelerator before it is deleted", ScenarioAccelerators},
			{"globalaccelerator:UpdateEndpointGroup", "change weights, traffic dials and port overrides; AWS also requires this permission to add endpoints", ScenarioAccelerators},
			{"globalaccelerator:UpdateListener", "change ports, protocol and client affinity", ScenarioAccelerators},
		},
	},
	{
		Sid: "TagOwnAccelerators", Feature: GateAccelerators, Resources: acceleratorResources, Conditions: []Condition{requestLacksClusterTag, resourceHasClusterTag, resourceHasAcceleratorTag},
		Actions: []Action{
			{"globalaccelerator:TagResource", "change tags of accelerators that the controller has created", ScenarioAccelerators},
			{"globalaccelerator:UntagResource", "remove tags of accelerators that the controller has created", ScenarioAccelerators},
		},
	},
	{
		Sid: "TagNewAccelerators", Feature: GateAccelerators, Resources: acceleratorResources, Conditions: []Condition{requestHasClusterTag, requestHasAcceleratorTag},
		Actions: []Action{
			{"globalaccelerator:TagResource", "tag accelerators when they are created, and restore missing tags of the cluster", ScenarioAccelerators},
		},
	},
}

// AcceleratorsFile is the name of the file in config/iam with AcceleratorPolicy.
const AcceleratorsFile = "accelerators.json"

// AcceleratorPolicy returns the IAM policy of the table AcceleratorStatements, without the given action in the statement
// sid. If sid is empty, the policy is complete. It is for partition "aws", the only partition with AWS Global Accelerator.
func AcceleratorPolicy(sid, action string) []byte {
	return renderPolicy(AcceleratorStatements, Partitions[0], func(Statement) bool { return true }, func(s Statement, a Action) bool { return s.Sid == sid && a.Name == action })
}
