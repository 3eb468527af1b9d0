package plan

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Document says what a stack is to be once its plan is carried out, as a value for tools that
// compare stacks. It holds what the desired state says and what the plan chose for it, so that it does not
// change while the plan is being carried out. Its form is that of earlier controllers.
type Document struct {
	ID string `json:"id"`
	// Resources by type and logical id.
	Resources map[ResourceType]map[string]any `json:"resources"`
}

// ResourceType is the type of a resource of a Document.
type ResourceType string

// The types.
const (
	TypeSecurityGroup ResourceType = "AWS::EC2::SecurityGroup"
	TypeLoadBalancer  ResourceType = "AWS::ElasticLoadBalancingV2::LoadBalancer"
	TypeTargetGroup   ResourceType = "AWS::ElasticLoadBalancingV2::TargetGroup"
	TypeListener      ResourceType = "AWS::ElasticLoadBalancingV2::Listener"
	TypeRule          ResourceType = "AWS::ElasticLoadBalancingV2::ListenerRule"
	TypeBinding       ResourceType = "K8S::ElasticLoadBalancingV2::TargetGroupBinding"
	TypeWebACL        ResourceType = "AWS::WAFv2::WebACLAssociation"
	TypeClassicACL    ResourceType = "AWS::WAFRegional::WebACLAssociation"
	TypeProtection    ResourceType = "AWS::Shield::Protection"
	TypeCertificate   ResourceType = "AWS::ACM::Certificate"
	// TypeALBTargets is no resource of its own, but says which ports of load balancers are targets.
	TypeALBTargets ResourceType = "FrontendNLBTargetGroup"
)

// Describe says what the desired state becomes: with the subnets, security groups, certificates and web ACLs
// that a plan for it would choose. It is nil where a plan would make nothing, because the whole
// stack is held or a choice cannot be made, or where facts are missing that the plan has to ask for.
//
// What is held stands there as the plan keeps it: a rule with the live conditions and actions, or
// with the 503 in its place; a listener or network load balancer that stays as it is with its live
// settings but without attributes, which are not read then; security group rules that stay open;
// target groups that only held rules use by their ARN. A listener that cannot be made is left out,
// and so are a web ACL, networking rules of bindings and tags of others that stay because a desired state
// cannot be read. A certificate that is still on its way counts as issued.
func Describe(want model.Stack, have observed.Stack, opt Options, memory Memory) *Document {
	b := newBuilder(want, have, opt, memory)
	doc := &Document{ID: want.ID.String(), Resources: map[ResourceType]map[string]any{}}
	switch {
	case want.Held.Everything:
		return nil
	case want.Empty():
		return doc
	}
	issued := b.managed.assumeIssued()
	b.resolve()
	if b.want.Held.Creation || len(b.plan.Asks) > 0 {
		return nil
	}
	d := describer{
		draft: b.draft, desiredGroups: b.desiredGroups, groupARN: b.groupARN, makes: b.makes,
		lb: &b.loadBalancerPlan, frontend: &b.frontend.loadBalancerPlan,
		opens: b.securityGroups.keepsOpen, webACL: b.addOns.webACL, issued: issued, doc: doc,
	}
	d.securityGroup()
	d.loadBalancer(d.lb)
	d.targetGroups()
	for _, l := range d.lb.listeners {
		d.listener(l)
	}
	d.frontNLB()
	d.addOns()
	d.managed()
	return doc
}

// JSON is the document in one line. Equal documents have equal texts.
func (d *Document) JSON() string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // plain data can be encoded
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// describer fills in a document from choices that are made.
type describer struct {
	*draft
	desiredGroups map[string]*model.TargetGroup  // by id
	groupARN      map[string]string              // of live target groups, by the id of the desired one
	makes         func(w model.TargetGroup) bool // whether a desired target group is made
	lb, frontend  *loadBalancerPlan
	opens         func(r model.IngressRule) bool // whether a live rule that is not desired stays
	webACL        *string                        // nil: left as it is
	issued        map[string]string              // ids of the stack's own certificates, by ARN
	doc           *Document
}

// resource is one of a document.
type resource struct {
	Spec any `json:"spec"`
}

func (d *describer) has(t ResourceType, id string) bool { return d.doc.Resources[t][id] != nil }

func (d *describer) put(t ResourceType, id string, spec any) { d.note(t, id, resource{spec}) }

func (d *describer) note(t ResourceType, id string, value any) {
	if d.doc.Resources[t] == nil {
		d.doc.Resources[t] = map[string]any{}
	}
	d.doc.Resources[t][id] = value
}

// token is a text, or what another resource of the document will be known by.
type token struct{ text, ref string }

func literal(s string) token { return token{text: s} }

func (t ResourceType) of(id, field string) token {
	return token{ref: "#/resources/" + string(t) + "/" + id + "/status/" + field}
}

func loadBalancerToken(id string) token  { return TypeLoadBalancer.of(id, "loadBalancerARN") }
func targetGroupToken(id string) token   { return TypeTargetGroup.of(id, "targetGroupARN") }
func listenerToken(id string) token      { return TypeListener.of(id, "listenerARN") }
func certificateToken(id string) token   { return TypeCertificate.of(id, "certificateARN") }
func securityGroupToken(id string) token { return TypeSecurityGroup.of(id, "groupID") }

// MarshalJSON implements the encoder's interface.
func (t token) MarshalJSON() ([]byte, error) {
	if t.ref == "" {
		return json.Marshal(t.text)
	}
	return json.Marshal(struct {
		Ref string `json:"$ref"`
	}{t.ref})
}

// backendGroup is the cluster's shared group, which belongs to no stack: its id, or its name until
// it is made.
func (d *describer) backendGroup() token {
	if id := d.known[backendGroupAddress]; id != "" {
		return literal(id)
	}
	return literal(naming.BackendGroup(d.opt.Cluster))
}

// securityGroups are groups by id, after those of the stack.
func (d *describer) securityGroups(groups []GroupID) []token {
	var out []token
	var ids []string
	for _, g := range groups {
		switch {
		case g.ID != "":
			ids = append(ids, g.ID)
		case g.Address == backendGroupAddress:
			ids = append(ids, d.backendGroup().text)
		default:
			out = append(out, securityGroupToken(g.Address.ID))
		}
	}
	for _, id := range sortedUnique(ids) {
		out = append(out, literal(id))
	}
	return out
}

// targetGroup names a group of a forward action.
func (d *describer) targetGroup(r model.GroupRef) token {
	if r.ID != "" {
		return targetGroupToken(r.ID)
	}
	for id, arn := range d.groupARN {
		if arn == r.ARN && d.has(TypeTargetGroup, id) {
			return targetGroupToken(id)
		}
	}
	return literal(r.ARN)
}

// setting is an attribute of a resource.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func settings(m map[string]string) []setting {
	var out []setting
	for _, k := range sortedKeys(m) {
		out = append(out, setting{k, m[k]})
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
