package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
)

// Document holds what a stack is to be once its plan is carried out, as a value for tools that
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

// JSON returns the document in one line. Equal documents have equal texts.
func (d *Document) JSON() string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // plain data can be encoded
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// Describer fills in a document from choices that are made.
type Describer struct {
	*draft.Draft
	DesiredGroups map[string]*model.TargetGroup // by id
	GroupARN      map[string]string             // of live target groups, by the id of the desired one
	Groups        TargetGroups
	LB, Frontend  *resolved.LoadBalancer
	Rules         *securitygroups.SecurityGroups
	WebACL        *string           // nil: left as it is
	Issued        map[string]string // ids of the stack's own certificates, by ARN
	Doc           *Document
}

// TargetGroups are the target groups of a plan.
type TargetGroups interface {
	// Makes reports whether a desired target group is made.
	IsPlanned(w model.TargetGroup) bool
}

// resource is a resource of a document.
type resource struct {
	Spec any `json:"spec"`
}

func (d *Describer) has(t ResourceType, id string) bool { return d.Doc.Resources[t][id] != nil }

func (d *Describer) put(t ResourceType, id string, spec any) { d.note(t, id, resource{spec}) }

func (d *Describer) note(t ResourceType, id string, value any) {
	if d.Doc.Resources[t] == nil {
		d.Doc.Resources[t] = map[string]any{}
	}
	d.Doc.Resources[t][id] = value
}

// token is a text, or what another resource of the document will be known by.
type token struct{ text, ref string }

func literal(s string) token { return token{text: s} }

func (t ResourceType) of(id, field string) token {
	return token{ref: "#/resources/" + string(t) + "/" + id + "/status/" + field}
}

func loadBalancerToken(id string) token { return TypeLoadBalancer.of(id, "loadBalancerARN") }

func targetGroupToken(id string) token { return TypeTargetGroup.of(id, "targetGroupARN") }

func listenerToken(id string) token { return TypeListener.of(id, "listenerARN") }

func certificateToken(id string) token { return TypeCertificate.of(id, "certificateARN") }

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

// backendGroup returns the cluster's shared group, which belongs to no stack: its id, or its name until
// it is made.
func (d *Describer) backendGroup() token {
	if id := d.KnownIDs[plan.BackendGroupAddress]; id != "" {
		return literal(id)
	}
	return literal(naming.BackendGroup(d.Opt.Cluster))
}

// securityGroups returns groups by id, after those of the stack.
func (d *Describer) securityGroups(groups []plan.GroupID) []token {
	var out []token
	var ids []string
	for _, g := range groups {
		switch {
		case g.ID != "":
			ids = append(ids, g.ID)
		case g.Address == plan.BackendGroupAddress:
			ids = append(ids, d.backendGroup().text)
		default:
			out = append(out, securityGroupToken(g.Address.ID))
		}
	}
	for _, id := range equal.SortedUnique(ids) {
		out = append(out, literal(id))
	}
	return out
}

// targetGroup names a group of a forward action.
func (d *Describer) targetGroup(r model.GroupRef) token {
	if r.ID != "" {
		return targetGroupToken(r.ID)
	}
	for id, arn := range d.GroupARN {
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
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, setting{k, m[k]})
	}
	return out
}
