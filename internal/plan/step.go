package plan

import (
	"cmp"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ResourceKind is the kind of the resource that a step changes, such as a listener or a security group.
type ResourceKind string

// The resource kinds of stacks with a load balancer. Other files of this package have the kinds of certificates, add-ons and
// accelerators.
const (
	Finalizer            ResourceKind = "finalizer"
	BackendSecurityGroup ResourceKind = "backend-security-group"
	SecurityGroup        ResourceKind = "security-group"
	TargetGroup          ResourceKind = "target-group"
	LoadBalancer         ResourceKind = "load-balancer"
	Listener             ResourceKind = "listener"
	Rule                 ResourceKind = "rule"
	Binding              ResourceKind = "binding"
)

// Address identifies a resource within a stack: its kind, and an ID that does not change while the resource is desired. If
// an observed resource is not desired any more, the ID is its ARN or security group id.
type Address struct {
	Kind ResourceKind
	ID   string
}

// String returns "kind/id".
func (a Address) String() string { return string(a.Kind) + "/" + a.ID }

// Compare orders addresses by kind and id.
func (a Address) Compare(b Address) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// Verb is the kind of change that a step makes to the resource at its address.
type Verb string

// The verbs of steps.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Impact is the effect that a step may have on traffic.
type Impact string

// The impacts of steps on traffic, from the least to the most severe.
const (
	NoImpact      Impact = "none"
	BriefImpact   Impact = "brief"   // for a short time, some requests may be answered differently
	ReplaceImpact Impact = "replace" // another resource replaces this resource
	DeleteImpact  Impact = "delete"  // requests that depend on the resource fail
)

// Change is one field that a step changes, with the old and the new value as human-readable text.
type Change struct{ Path, From, To string }

// StepID identifies a step within its plan. It has the operation and the address.
type StepID string

// Step is one write to AWS or Kubernetes. The steps of a plan can be carried out in order. After lists the dependencies,
// which matter if an earlier step fails.
type Step struct {
	ID      StepID
	Address Address
	Verb    Verb
	Do      Action
	Changes []Change
	Why     string
	Impact  Impact
	// After has the ids of the steps and joins that must succeed before this step.
	After []StepID
	// Wait is the reason why the step is not carried out in this run; zero if the step is carried out.
	Wait Wait
	// RequestedBy are the objects that requested the change. If AWS refuses the step, these objects report the refusal.
	RequestedBy []finding.Ref
	// Rule identifies the desired rule that the step creates or changes; zero if the step neither creates nor changes a
	// rule.
	Rule model.RuleKey
	// NameOrigin is the field or annotation that sets the name of the load balancer that the step creates; zero if the
	// controller computes the name.
	NameOrigin finding.Origin
	// NeedsExtraQuota is set if the step needs additional quota, such as one more rule or target group, to avoid an
	// interruption. If the quota is exhausted, the change can be made in place (Rule.InPlace, Listener.DefaultInPlace).
	NeedsExtraQuota bool
	// ReplacedLoadBalancer is the name of the load balancer whose replacement needs the step; empty if the step belongs to
	// no replacement.
	ReplacedLoadBalancer string
	// IsRevocation is set if the step removes a resource or setting that its member may not use any more. These steps never
	// wait.
	IsRevocation bool
}

// Plan is an ordered list of steps for one stack.
type Plan struct {
	Stack model.StackID
	Steps []Step
	// Joins maps the id of a join to the steps that it represents. A join has succeeded when all of its steps have succeeded.
	Joins map[StepID][]StepID
	// WaitKeys identify the waits with a deadline, including those whose deadline has passed. The engine records how long
	// each key has been in the plans of the stack, and passes these times to the next plan in Memory.WaitedTimes.
	WaitKeys []string
	// RulesOverQuota are listener rules that are omitted because a quota of AWS is reached.
	RulesOverQuota map[model.RuleKey]bool
	// Questions are for facts that the plan needs but that were not read. The caller reads the facts and makes the plan
	// again.
	Questions []model.Question
	// KnownIDs has the ARNs and ids of the resources that already exist.
	KnownIDs KnownIDs
	// LoadBalancers are the addresses of the load balancers whose DNS names the status shows: the load balancer of the stack
	// and its frontend NLB.
	LoadBalancers []Address
	// ShownARNs has, by address, the ARN of the existing load balancer whose DNS name the status shows until the load
	// balancer at the address is ready for requests.
	ShownARNs map[Address]string
	// Ports are the ports on which the load balancer of the stack listens when the plan is completed, in ascending order. If
	// the status shows another load balancer, they are the ports of that load balancer.
	Ports []int32
	// MembersWithRetainedStatus are members whose status is not written: it still shows the load balancer of another stack.
	MembersWithRetainedStatus []finding.Ref
	// AssumedSecretHashes has, by the ARN of a listener or rule without a recorded hash, the hash of the client secret that
	// it is assumed to have.
	AssumedSecretHashes map[string]string
	// HasRetainedParts is set if the plan retains, permanently or for some time, an observed resource or setting that
	// differs from the desired state. If set, the plan is carried out only after Facts.Withdrawn is determined, because it
	// could retain a resource that members may not use any more.
	HasRetainedParts bool
	// RetryAfter is the time after which the plan must be made again at the latest, because AWS did not answer an optional
	// question or because members move between stacks; 0 if there is no such reason.
	RetryAfter time.Duration
}

// Empty reports whether the plan has no steps. A step that waits counts as a step.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// KnownIDs maps addresses to the identifiers of the resources in AWS: ARNs and security group ids.
type KnownIDs map[Address]string

// StepResult is the result of a step that succeeded.
type StepResult struct {
	// ID is the ARN or id of the resource that was created; empty for other steps.
	ID string
	// DNSName is the DNS name of the load balancer or accelerator that was created.
	DNSName string
	// Note is a detail for the event or log, such as the rules that were revoked.
	Note string
}

// Action is the write that a step makes. It has all parameters of the call except the ids of resources that earlier steps
// create. These ids are looked up in KnownIDs by address.
type Action interface{ action() }

// Divisible is an action that sets several values. AWS refuses all values if it refuses one of them. After a refusal, the
// action is carried out in parts, so that the other values are applied.
type Divisible interface {
	Action
	// Divide returns the parts of the action in order; none if the action cannot be divided.
	Divide() []ActionPart
}

// ActionPart is a part of a Divisible action. Name is the last element of the path (Change.Path) of the fields that the part
// changes. If Required is set, the later parts are carried out only after this part has succeeded.
type ActionPart struct {
	Name     string
	Do       Action
	Required bool
}

// TargetGroupAddress returns the address of the target group of the stack that has the given resource id.
func TargetGroupAddress(id string) Address { return Address{Kind: TargetGroup, ID: id} }

// Tags are all desired tags of a resource, including the tracking tags of the controller.
type Tags map[string]string

// --- Kubernetes ---

// ClaimFinalizer adds the stack's finalizer to a member.
type ClaimFinalizer struct {
	Ref       finding.Ref
	Finalizer string
}

// ReleaseFinalizer removes the stack's finalizer from an object. If ClearStatus is set, the load balancer is removed
// from the status first.
type ReleaseFinalizer struct {
	Ref         finding.Ref
	Finalizer   string
	ClearStatus bool
}

// PutBinding creates a TargetGroupBinding, or updates the TargetGroupBinding with the namespace and name in Existing.
type PutBinding struct {
	Existing *model.Binding // namespace and name only; nil to create
	Binding  model.Binding
	Group    Address // of the target group, whose ARN is in KnownIDs
	Type     model.TargetType
	Protocol string
	Address  model.AddressType
	VPC      string
	Labels   map[string]string
	// LabelsToRemove are the keys of the labels to remove from an existing binding.
	LabelsToRemove []string
	// RetainNetworking leaves spec.networking of an existing binding as it is.
	RetainNetworking bool
	// BackendSecurityGroup and ManagedSecurityGroup are the addresses of the security groups to which networking peers of
	// the binding refer.
	BackendSecurityGroup Address
	ManagedSecurityGroup Address
}

// DeleteBinding deletes a TargetGroupBinding. Because of its finalizer, the binding exists until its reconcile has
// deregistered the targets.
type DeleteBinding struct{ Namespace, Name string }

// --- EC2 ---

// CreateSecurityGroup creates a security group with its tags and without rules.
type CreateSecurityGroup struct {
	Name, Description string
	Tags              Tags
}

// ChangeIngress adds inbound rules to a security group, and then removes other inbound rules.
type ChangeIngress struct {
	Group     Address
	Authorize []model.IngressRule
	Revoke    []model.IngressRule
	// Total is the number of inbound rules of the security group after the change. The default quota of AWS is 60.
	Total int
}

// DeleteSecurityGroup deletes a security group. If AWS answers with a dependency violation, the step is repeated
// later.
type DeleteSecurityGroup struct{ GroupID string }

// --- ELBv2 ---

// CreateLoadBalancer creates a load balancer with its tags. A separate step sets the attributes.
type CreateLoadBalancer struct {
	Type           model.LoadBalancerType
	Name           string
	Scheme         model.Scheme
	AddressType    model.AddressType
	Subnets        []model.SubnetMapping
	SourceNAT      string // "on", "off", or empty for the default of AWS
	SecurityGroups []SecurityGroupRef
	CoIPPool       string
	IPAMPool       string
	Tags           Tags
}

// SecurityGroupRef identifies a security group: by id, or by address if an earlier step creates it.
type SecurityGroupRef struct {
	ID      string
	Address Address
}

// SetSecurityGroups replaces the security groups of a load balancer.
type SetSecurityGroups struct {
	LoadBalancer Address
	Groups       []SecurityGroupRef
	// PrivateLinkRules determines whether inbound rules apply to traffic through AWS PrivateLink: "on", "off", or empty to
	// keep the setting.
	PrivateLinkRules string
}

// SetSubnets replaces the subnets of a load balancer.
type SetSubnets struct {
	LoadBalancer Address
	Subnets      []model.SubnetMapping
	// SourceNAT and AddressType are not changed if empty.
	SourceNAT   string
	AddressType model.AddressType
}

// SetAddressType changes the IP address type of a load balancer.
type SetAddressType struct {
	LoadBalancer Address
	Type         model.AddressType
}

// SetIPAMPool sets the IPv4 pool of a load balancer; an empty pool removes the IPAM pool.
type SetIPAMPool struct {
	LoadBalancer Address
	Pool         string
}

// SetCapacity sets the capacity reservation of a load balancer in LCUs; 0 removes the reservation.
type SetCapacity struct {
	LoadBalancer Address
	Units        int32
}

// SetAttributes changes attributes of a load balancer, listener or target group.
type SetAttributes struct {
	Resource Address
	Values   map[string]string
}

// SetTags adds, changes and removes tags of a resource of AWS.
type SetTags struct {
	Resource Address
	Put      Tags
	Remove   []string
	// RemoveFirst is set if tags must be removed before others are added, because the resource has reached the maximum number
	// of tags.
	RemoveFirst bool
}

// DeleteLoadBalancer deletes a load balancer together with its listeners and rules.
type DeleteLoadBalancer struct{ ARN string }

// CreateTargetGroup creates a target group with its tags.
type CreateTargetGroup struct {
	Group model.TargetGroup
	Tags  Tags
}

// SetHealthCheck changes the health check of a target group.
type SetHealthCheck struct {
	Group Address
	Check model.HealthCheck
}

// DeleteTargetGroup deletes a target group. If AWS answers that the target group is in use, the step is repeated later.
type DeleteTargetGroup struct{ ARN string }

// ListenerSettings are the parameters of the AWS calls CreateListener and ModifyListener.
type ListenerSettings struct {
	Port        int32
	Protocol    string
	Policy      string
	ALPN        string
	Certificate string
	MutualAuth  *model.MutualAuth // trust store by ARN
	Default     []model.Action
}

// WithDefaultActions returns a copy of the settings with the given default actions.
func (s ListenerSettings) WithDefaultActions(actions []model.Action) ListenerSettings {
	s.Default = actions
	return s
}

// CreateListener creates a listener on a load balancer.
type CreateListener struct {
	LoadBalancer Address
	Settings     ListenerSettings
	Tags         Tags
}

// ModifyListener changes the settings of a listener.
type ModifyListener struct {
	Listener Address
	Settings ListenerSettings
}

// AddCertificate adds a certificate to the certificate list of a listener.
type AddCertificate struct {
	Listener Address
	ARN      string
}

// RemoveCertificate removes a certificate from the certificate list of a listener.
type RemoveCertificate struct {
	Listener Address
	ARN      string
}

// DeleteListener deletes a listener and its rules.
type DeleteListener struct{ ARN string }

// CreateRule creates a listener rule at a priority.
type CreateRule struct {
	Listener Address
	Priority int32
	Rule     model.Rule
	Tags     Tags
}

// ModifyRule changes conditions, actions and transforms of a listener rule.
type ModifyRule struct {
	Rule       Address
	Conditions []model.Condition
	Actions    []model.Action
	Transforms []model.Transform
}

// SetPriorities changes the priorities of several listener rules in one call. Priorities has the new priority of each rule,
// by the address of the rule.
type SetPriorities struct{ Priorities map[Address]int32 }

// ChangesRouting reports whether an action can change the target group to which a request is sent.
func ChangesRouting(do Action) bool {
	switch do.(type) {
	case CreateListener, ModifyListener, DeleteListener, CreateRule, ModifyRule, SetPriorities, DeleteRule:
		return true
	}
	return false
}

// RuleActionsOf returns the actions that a step writes to a listener rule or, as default actions, to a listener; nil for
// other steps.
func RuleActionsOf(do Action) []model.Action {
	switch do := do.(type) {
	case CreateRule:
		return do.Rule.Actions
	case ModifyRule:
		return do.Actions
	case CreateListener:
		return do.Settings.Default
	case ModifyListener:
		return do.Settings.Default
	}
	return nil
}

// DeleteRule deletes a listener rule.
type DeleteRule struct{ ARN string }

func (ClaimFinalizer) action()      {}
func (ReleaseFinalizer) action()    {}
func (PutBinding) action()          {}
func (DeleteBinding) action()       {}
func (CreateSecurityGroup) action() {}
func (ChangeIngress) action()       {}
func (DeleteSecurityGroup) action() {}
func (CreateLoadBalancer) action()  {}
func (SetSecurityGroups) action()   {}
func (SetSubnets) action()          {}
func (SetAddressType) action()      {}
func (SetIPAMPool) action()         {}
func (SetCapacity) action()         {}
func (SetAttributes) action()       {}
func (SetTags) action()             {}
func (DeleteLoadBalancer) action()  {}
func (CreateTargetGroup) action()   {}
func (SetHealthCheck) action()      {}
func (DeleteTargetGroup) action()   {}
func (CreateListener) action()      {}
func (ModifyListener) action()      {}
func (AddCertificate) action()      {}
func (RemoveCertificate) action()   {}
func (DeleteListener) action()      {}
func (CreateRule) action()          {}
func (ModifyRule) action()          {}
func (SetPriorities) action()       {}
func (DeleteRule) action()          {}

// WritesToKubernetes reports whether the action is a write to Kubernetes rather than to AWS.
func WritesToKubernetes(a Action) bool {
	switch a.(type) {
	case ClaimFinalizer, ReleaseFinalizer, PutBinding, DeleteBinding, RecordAccelerator:
		return true
	}
	return false
}

// NewStepID returns the id of a step, which consists of its operation, its address and the parts. Parts are needed only if
// several steps of a plan have the same operation and address.
func NewStepID(operation string, a Address, parts ...string) StepID {
	return StepID(strings.Join(append([]string{operation, a.String()}, parts...), " "))
}
