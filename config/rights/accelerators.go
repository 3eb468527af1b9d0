package rights

// GateAccelerators is the flag that enables GlobalAccelerators.
const GateAccelerators = "--feature-gates=GlobalAcceleratorController=true"

// AcceleratorCalls is the scenario in which the controller creates, changes and deletes an accelerator.
const AcceleratorCalls Scenario = "internal/test/harness TestWithoutPermissionOfAccelerators"

// The conditions on the cluster tag of accelerators. Listeners and endpoint groups have no tags; the tags of their
// accelerator apply.
var (
	requestedAccelerator = Condition{"StringEquals", "aws:RequestTag/aga.k8s.aws/resource", []string{"GlobalAccelerator"}}
	ownAccelerator       = Condition{"StringEquals", "aws:ResourceTag/aga.k8s.aws/resource", []string{"GlobalAccelerator"}}
)

var (
	accelerators = []string{"globalaccelerator::*:accelerator/*"}
	// acceleratorParts are accelerators, their listeners and their endpoint groups.
	acceleratorParts = append(accelerators[:1:1], accelerators[0]+"/listener/*", accelerators[0]+"/listener/*/endpoint-group/*")
)

// Accelerators is the table of further permissions in AWS for GlobalAccelerators. They are in a separate policy, because
// the service exists in one partition only. The controller does not use them while the feature gate is off.
var Accelerators = []Statement{
	{
		Sid: "AcceleratorServiceLinkedRole", Feature: GateAccelerators,
		Condition: []Condition{{"StringEquals", "iam:AWSServiceName", []string{"globalaccelerator.amazonaws.com"}}},
		Actions: []Action{
			{"iam:CreateServiceLinkedRole", "allow Global Accelerator to create its service-linked role when an account gets its first accelerator", AcceleratorCalls},
		},
	},
	{
		Sid: "ReadAccelerators", Feature: GateAccelerators,
		Actions: []Action{
			{"globalaccelerator:ListAccelerators", "find and compare accelerators, and check whether their changes are deployed", AcceleratorCalls},
			{"globalaccelerator:ListEndpointGroups", "compare endpoint groups and endpoints, and read the health of endpoints", AcceleratorCalls},
			{"globalaccelerator:ListListeners", "compare listeners", AcceleratorCalls},
			{"globalaccelerator:ListTagsForResource", "determine which object an accelerator belongs to", AcceleratorCalls},
		},
	},
	{
		Sid: "CreateAccelerators", Feature: GateAccelerators, Condition: []Condition{requested, requestedAccelerator},
		Actions: []Action{
			{"globalaccelerator:CreateAccelerator", "make accelerators", AcceleratorCalls},
		},
	},
	{
		Sid: "ChangeOwnAccelerators", Feature: GateAccelerators, Resources: acceleratorParts, Condition: []Condition{own, ownAccelerator},
		Actions: []Action{
			{"globalaccelerator:AddEndpoints", "add endpoints to endpoint groups", AcceleratorCalls},
			{"globalaccelerator:CreateEndpointGroup", "make endpoint groups", AcceleratorCalls},
			{"globalaccelerator:CreateListener", "make listeners", AcceleratorCalls},
			{"globalaccelerator:DeleteAccelerator", "delete accelerators that the controller has created", AcceleratorCalls},
			{"globalaccelerator:DeleteEndpointGroup", "delete endpoint groups", AcceleratorCalls},
			{"globalaccelerator:DeleteListener", "delete listeners", AcceleratorCalls},
			{"globalaccelerator:RemoveEndpoints", "remove endpoints from endpoint groups", AcceleratorCalls},
			{"globalaccelerator:UpdateAccelerator", "change the name and the address type, and disable an accelerator before it is deleted", AcceleratorCalls},
			{"globalaccelerator:UpdateEndpointGroup", "change weights, traffic dials and port overrides; AWS also requires this permission to add endpoints", AcceleratorCalls},
			{"globalaccelerator:UpdateListener", "change ports, protocol and client affinity", AcceleratorCalls},
		},
	},
	{
		Sid: "TagOwnAccelerators", Feature: GateAccelerators, Resources: accelerators, Condition: []Condition{notRequested, own, ownAccelerator},
		Actions: []Action{
			{"globalaccelerator:TagResource", "change tags of accelerators that the controller has created", AcceleratorCalls},
			{"globalaccelerator:UntagResource", "remove tags of accelerators that the controller has created", AcceleratorCalls},
		},
	},
	{
		Sid: "TagNewAccelerators", Feature: GateAccelerators, Resources: accelerators, Condition: []Condition{requested, requestedAccelerator},
		Actions: []Action{
			{"globalaccelerator:TagResource", "tag accelerators when they are created, and restore missing tags of the cluster", AcceleratorCalls},
		},
	},
}

// AcceleratorsFile is the name of the file in config/iam with AcceleratorPolicy.
const AcceleratorsFile = "accelerators.json"

// AcceleratorPolicy returns the IAM policy of the table Accelerators without one permission, or of the whole table if sid
// is empty. The policy is for the only partition that has the service.
func AcceleratorPolicy(sid, action string) []byte {
	return render(Accelerators, Partitions[0], func(Statement) bool { return true }, func(s Statement, a Action) bool { return s.Sid == sid && a.Name == action })
}
