package plan

import (
	"cmp"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ResourceKind is the kind of thing that a step acts on.
type ResourceKind string

// The kinds, in the order in which a plan is printed.
const (
	Finalizer     ResourceKind = "finalizer"
	BackendGroup  ResourceKind = "backend-security-group"
	SecurityGroup ResourceKind = "security-group"
	TargetGroup   ResourceKind = "target-group"
	LoadBalancer  ResourceKind = "load-balancer"
	Listener      ResourceKind = "listener"
	Rule          ResourceKind = "rule"
	Binding       ResourceKind = "binding"
)

// Address names a thing within a stack: a kind and an id that stays the same over its life. The
// id of a live resource that the stack does not want any more is its ARN or group id.
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

// Verb is what a step does to its address.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Impact is what traffic may feel.
type Impact string

// The impacts.
const (
	NoImpact      Impact = "none"
	BriefImpact   Impact = "brief"   // some requests may be answered differently for a moment
	ReplaceImpact Impact = "replace" // a new resource takes the place of this one
	DeleteImpact  Impact = "delete"  // whatever used it will fail
)

// Change is one field that a step changes, as text in readable form.
type Change struct{ Path, From, To string }

// StepID names a step within its plan: its address and what it does.
type StepID string

// Step is one write. Its position in the plan is a valid order; After holds the edges that matter
// when an earlier step fails.
type Step struct {
	ID      StepID
	Address Address
	Verb    Verb
	Do      Action
	Changes []Change
	Why     string
	Impact  Impact
	// After are steps, or joins of steps, that must have succeeded.
	After []StepID
	// Wait is what the step has to wait for; with it, it is not carried out in this run.
	Wait Wait
	// Blames are the objects that ask for what the step does; a refusal by AWS is reported there.
	Blames []finding.Ref
	// Rule identifies the desired rule that the step creates or changes; zero if it is about none.
	Rule model.RuleKey
	// NameOf is the field that sets the name of the load balancer that the step creates; zero if the name is computed.
	NameOf finding.Origin
	// Staged is set where the step needs room beside what is live, and the change can be made in place
	// without (Rule.InPlace, Listener.DefaultInPlace).
	Staged bool
	// Replaced is the name of the load balancer whose replacement the step is part of; "" if it is part of none.
	Replaced string
	// Revokes is set where the step takes away what its member has no right to any more. Nothing delays it.
	Revokes bool
}

// Plan is an ordered list of steps for one stack.
type Plan struct {
	Stack model.StackID
	Steps []Step
	// Joins are ids that stand for several steps, which are done when all of these are.
	Joins map[StepID][]StepID
	// Waiting identifies what steps wait for until a deadline, or would wait for had it not passed.
	// Memory.Waited is to hold, in the next plan, since when these are in the plans of the stack.
	Waiting []string
	// OverCapacity are rules that are left out because AWS has no room for them.
	OverCapacity map[model.RuleKey]bool
	// Asks are questions whose answers the plan still needs; the caller observes again with them
	// and makes the plan again.
	Asks []model.Question
	// Known holds the addresses that exist already.
	Known Known
	// LoadBalancers are the load balancers whose DNS names the status shows: that of the stack, and the one in front
	// of it.
	LoadBalancers []Address
	// Shown are the ARNs of live load balancers whose names the status shows in place of those at the
	// addresses, because the new ones do not serve yet.
	Shown map[Address]string
	// Ports that the load balancer of the stack listens on when the plan is done, ascending. While the
	// status shows another in its place, those of that.
	Ports []int32
	// Unshown are members whose status goes on to show the load balancer of another stack.
	Unshown []finding.Ref
	// Secrets are marks of client secrets that listeners and rules, by ARN, are taken to have
	// because nothing is known to the contrary.
	Secrets map[string]string
	// Retains reports that something live stays that is not desired as it is, or stays for a while. A plan that retains is
	// carried out only when it is known to what of the stack members have no right any more (Facts.Withdrawn).
	Retains bool
	// Again is when to plan again at the latest, because AWS did not answer a question that the plan
	// could do without, or because members move between stacks; 0 if there is nothing of that.
	Again time.Duration
}

// Empty reports whether there is nothing to do, not even to wait for.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Known maps addresses to the ids that AWS gave: ARNs, group ids.
type Known map[Address]string

// Result is the result of a step.
type Result struct {
	// ID is the ARN or id of what was created.
	ID string
	// DNSName of a created load balancer.
	DNSName string
	// Note is something for the event or log, such as rules that were revoked.
	Note string
}

// Action is what a step does; it holds all that the call needs, except ids that only exist once
// an earlier step is done, which are looked up in Known by address.
type Action interface{ action() }

// Divisible is an action of which one value may be refused, so that it is carried out in parts, in their order.
type Divisible interface {
	Action
	// Divide returns the parts, none if there is only one.
	Divide() []Part
}

// Part is a part of an action. Name is the last element of the field changes that it carries out. If First is set, all later
// parts need it.
type Part struct {
	Name  string
	Do    Action
	First bool
}

// TargetGroupAddress of a forward action's group: by id of this stack.
func TargetGroupAddress(id string) Address { return Address{Kind: TargetGroup, ID: id} }

// Tags of a resource, complete, tracking tags included.
type Tags map[string]string

// --- Kubernetes ---

// ClaimFinalizer adds the stack's finalizer to a member.
type ClaimFinalizer struct {
	Ref       finding.Ref
	Finalizer string
}

// ReleaseFinalizer removes it. With ClearStatus the load balancer status goes first.
type ReleaseFinalizer struct {
	Ref         finding.Ref
	Finalizer   string
	ClearStatus bool
}

// PutBinding creates a TargetGroupBinding, or updates the one named Existing.
type PutBinding struct {
	Existing *model.Binding // namespace and name only; nil to create
	Binding  model.Binding
	Group    Address // the target group, in Known
	Type     model.TargetType
	Protocol string
	Address  model.AddressType
	VPC      string
	Labels   map[string]string
	// Without are the keys of labels that are removed from an existing binding.
	Without []string
	// KeepNetworking leaves the rules that an existing binding asks for as they are.
	KeepNetworking bool
	// BackendGroup and ManagedGroup are the addresses behind peers.
	BackendGroup Address
	ManagedGroup Address
}

// DeleteBinding deletes a TargetGroupBinding; its own finalizer takes the targets out.
type DeleteBinding struct{ Namespace, Name string }

// --- EC2 ---

// CreateSecurityGroup makes a group with its tags, without rules.
type CreateSecurityGroup struct {
	Name, Description string
	Tags              Tags
}

// ChangeIngress authorizes and revokes rules of a group, in this order.
type ChangeIngress struct {
	Group     Address
	Authorize []model.IngressRule
	Revoke    []model.IngressRule
	// Total is how many rules the group has then; AWS admits 60 unless asked for more.
	Total int
}

// DeleteSecurityGroup deletes a group; a dependency violation means "later".
type DeleteSecurityGroup struct{ GroupID string }

// --- ELBv2 ---

// CreateLoadBalancer makes a load balancer with tags; attributes follow in a step of their own.
type CreateLoadBalancer struct {
	Type           model.LoadBalancerType
	Name           string
	Scheme         model.Scheme
	AddressType    model.AddressType
	Subnets        []SubnetMapping
	SourceNAT      string // on, off, or empty to leave it to AWS
	SecurityGroups []GroupID
	CoIPPool       string
	IPAMPool       string
	Tags           Tags
}

// SubnetMapping is a subnet of a load balancer with its addresses there.
type SubnetMapping = model.SubnetMapping

// GroupID is a security group by id, or by address when it is made by an earlier step.
type GroupID struct {
	ID      string
	Address Address
}

// SetSecurityGroups replaces the groups of a load balancer.
type SetSecurityGroups struct {
	LoadBalancer Address
	Groups       []GroupID
	// PrivateLinkRules is on or off; empty leaves it as it is.
	PrivateLinkRules string
}

// SetSubnets replaces the subnets of a load balancer.
type SetSubnets struct {
	LoadBalancer Address
	Subnets      []SubnetMapping
	// SourceNAT and AddressType are left as they are if empty.
	SourceNAT   string
	AddressType model.AddressType
}

// SetAddressType changes the IP address type of a load balancer.
type SetAddressType struct {
	LoadBalancer Address
	Type         model.AddressType
}

// SetIPAMPool sets the IPv4 pool of a load balancer; an empty pool removes it.
type SetIPAMPool struct {
	LoadBalancer Address
	Pool         string
}

// SetCapacity sets the capacity reservation of a load balancer; 0 units remove it.
type SetCapacity struct {
	LoadBalancer Address
	Units        int32
}

// SetAttributes changes attributes of a load balancer, listener or target group.
type SetAttributes struct {
	Of     Address
	Values map[string]string
}

// SetTags adds and removes tags of any resource.
type SetTags struct {
	Of     Address
	Put    Tags
	Remove []string
	// RemoveFirst frees room at the limit of tags.
	RemoveFirst bool
}

// DeleteLoadBalancer deletes a load balancer and with it its listeners and rules.
type DeleteLoadBalancer struct{ ARN string }

// CreateTargetGroup makes a target group with tags.
type CreateTargetGroup struct {
	Group model.TargetGroup
	Tags  Tags
}

// SetHealthCheck changes the health check of a target group.
type SetHealthCheck struct {
	Group Address
	Check model.HealthCheck
}

// DeleteTargetGroup deletes a target group; "in use" means "later".
type DeleteTargetGroup struct{ ARN string }

// ListenerSettings are what CreateListener and ModifyListener send.
type ListenerSettings struct {
	Port        int32
	Protocol    string
	Policy      string
	ALPN        string
	Certificate string
	MutualAuth  *model.MutualAuth // trust store by ARN
	Default     []model.Action
}

// With returns the settings with another default action.
func (s ListenerSettings) With(actions []model.Action) ListenerSettings {
	s.Default = actions
	return s
}

// CreateListener makes a listener.
type CreateListener struct {
	LoadBalancer Address
	Settings     ListenerSettings
	Tags         Tags
}

// ModifyListener changes a listener's settings.
type ModifyListener struct {
	Listener Address
	Settings ListenerSettings
}

// AddCertificate attaches a certificate to a listener.
type AddCertificate struct {
	Listener Address
	ARN      string
}

// RemoveCertificate detaches one.
type RemoveCertificate struct {
	Listener Address
	ARN      string
}

// DeleteListener deletes a listener and its rules.
type DeleteListener struct{ ARN string }

// CreateRule makes a rule at a priority.
type CreateRule struct {
	Listener Address
	Priority int32
	Rule     model.Rule
	Tags     Tags
}

// ModifyRule changes what a rule matches or does.
type ModifyRule struct {
	Rule       Address
	Conditions []model.Condition
	Actions    []model.Action
	Transforms []model.Transform
}

// SetPriorities moves rules, all at once. Rules are named by address.
type SetPriorities struct{ Priorities map[Address]int32 }

// ChangesRouting reports whether an action changes where requests go.
func ChangesRouting(do Action) bool {
	switch do.(type) {
	case CreateListener, ModifyListener, DeleteListener, CreateRule, ModifyRule, SetPriorities, DeleteRule:
		return true
	}
	return false
}

// ActionsOf returns what an action has a rule or the default of a listener do, nothing if it is about neither.
func ActionsOf(do Action) []model.Action {
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

// DeleteRule deletes a rule.
type DeleteRule struct{ ARN string }

func (ClaimFinalizer) action() {}

func (ReleaseFinalizer) action() {}

func (PutBinding) action() {}

func (DeleteBinding) action() {}

func (CreateSecurityGroup) action() {}

func (ChangeIngress) action() {}

func (DeleteSecurityGroup) action() {}

func (CreateLoadBalancer) action() {}

func (SetSecurityGroups) action() {}

func (SetSubnets) action() {}

func (SetAddressType) action() {}

func (SetIPAMPool) action() {}

func (SetCapacity) action() {}

func (SetAttributes) action() {}

func (SetTags) action() {}

func (DeleteLoadBalancer) action() {}

func (CreateTargetGroup) action() {}

func (SetHealthCheck) action() {}

func (DeleteTargetGroup) action() {}

func (CreateListener) action() {}

func (ModifyListener) action() {}

func (AddCertificate) action() {}

func (RemoveCertificate) action() {}

func (DeleteListener) action() {}

func (CreateRule) action() {}

func (ModifyRule) action() {}

func (SetPriorities) action() {}

func (DeleteRule) action() {}

// InKubernetes reports whether the action is carried out by the cluster side.
func InKubernetes(a Action) bool {
	switch a.(type) {
	case ClaimFinalizer, ReleaseFinalizer, PutBinding, DeleteBinding, RecordAccelerator:
		return true
	}
	return false
}

// NewStepID makes the id of a step from what it does and to what.
func NewStepID(what string, a Address, more ...string) StepID {
	return StepID(strings.Join(append([]string{what, a.String()}, more...), " "))
}
