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
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
)

// Document has the resources of a stack after its plan is carried out, for programs that compare stacks. It is made from the
// desired state and the decisions of the plan. Therefore it does not change while the plan is carried out. The AWS Load
// Balancer Controller uses the same format.
type Document struct {
	ID string `json:"id"`
	// Resources has the resources by type and by logical id, such as "LoadBalancer".
	Resources map[ResourceType]map[string]any `json:"resources"`
}

// ResourceType is the type of a resource in a Document.
type ResourceType string

// The resource types, with the names that the AWS Load Balancer Controller uses.
const (
	TypeSecurityGroup      ResourceType = "AWS::EC2::SecurityGroup"
	TypeLoadBalancer       ResourceType = "AWS::ElasticLoadBalancingV2::LoadBalancer"
	TypeTargetGroup        ResourceType = "AWS::ElasticLoadBalancingV2::TargetGroup"
	TypeListener           ResourceType = "AWS::ElasticLoadBalancingV2::Listener"
	TypeRule               ResourceType = "AWS::ElasticLoadBalancingV2::ListenerRule"
	TypeTargetGroupBinding ResourceType = "K8S::ElasticLoadBalancingV2::TargetGroupBinding"
	TypeWebACL             ResourceType = "AWS::WAFv2::WebACLAssociation"
	TypeClassicWebACL      ResourceType = "AWS::WAFRegional::WebACLAssociation"
	TypeShieldProtection   ResourceType = "AWS::Shield::Protection"
	TypeCertificate        ResourceType = "AWS::ACM::Certificate"
	// TypeALBTargets is not a resource. It has the ports of ALBs that are targets of target groups.
	TypeALBTargets ResourceType = "FrontendNLBTargetGroup"
)

// JSON returns the document as JSON in one line. Equal documents have equal JSON.
func (d *Document) JSON() string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // cannot happen: a document has only types that can be encoded
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// Describer adds the resources of a stack to a document.
type Describer struct {
	*draft.Draft
	TargetGroups       *targetgroups.Planner
	LB, Frontend       *resolved.LoadBalancer
	SecurityGroups     *securitygroups.Planner
	WebACL             *string           // nil: not changed
	IssuedCertificates map[string]string // ids of the certificates that the stack manages, by ARN
	Doc                *Document
}

// Describe adds all resources of the plan to the document.
func (d *Describer) Describe() {
	d.describeSecurityGroup()
	d.describeLoadBalancer(d.LB)
	d.describeTargetGroups()
	for _, l := range d.LB.Listeners {
		d.describeListener(l)
	}
	d.describeFrontendNLB()
	d.describeAddOns()
	d.describeManagedCertificates()
}

// resource is a resource in the JSON form of a document.
type resource struct {
	Spec any `json:"spec"`
}

// hasResource reports whether the document has a resource with this type and id.
func (d *Describer) hasResource(t ResourceType, id string) bool { return d.Doc.Resources[t][id] != nil }

// addResource adds a resource with its spec to the document.
func (d *Describer) addResource(t ResourceType, id string, spec any) {
	d.addValue(t, id, resource{spec})
}

// addValue adds a value to the document under a resource type and an id, without wrapping it in a spec.
func (d *Describer) addValue(t ResourceType, id string, value any) {
	if d.Doc.Resources[t] == nil {
		d.Doc.Resources[t] = map[string]any{}
	}
	d.Doc.Resources[t][id] = value
}

// textOrReference is either a text, or a reference to a status field of another resource of the document.
type textOrReference struct{ text, ref string }

// textWithoutReference returns a text.
func textWithoutReference(s string) textOrReference { return textOrReference{text: s} }

// statusReference returns a reference to a status field of the resource with this type and id.
func (t ResourceType) statusReference(id, field string) textOrReference {
	return textOrReference{ref: "#/resources/" + string(t) + "/" + id + "/status/" + field}
}

func loadBalancerARNReference(id string) textOrReference {
	return TypeLoadBalancer.statusReference(id, "loadBalancerARN")
}

func targetGroupARNReference(id string) textOrReference {
	return TypeTargetGroup.statusReference(id, "targetGroupARN")
}

func listenerARNReference(id string) textOrReference {
	return TypeListener.statusReference(id, "listenerARN")
}

func certificateARNReference(id string) textOrReference {
	return TypeCertificate.statusReference(id, "certificateARN")
}

func securityGroupIDReference(id string) textOrReference {
	return TypeSecurityGroup.statusReference(id, "groupID")
}

// MarshalJSON implements json.Marshaler. A text becomes a JSON string, and a reference becomes an object with the key
// "$ref".
func (t textOrReference) MarshalJSON() ([]byte, error) {
	if t.ref == "" {
		return json.Marshal(t.text)
	}
	return json.Marshal(struct {
		Ref string `json:"$ref"`
	}{t.ref})
}

// backendSecurityGroupReference returns the id of the backend security group, or its name if it does not exist yet. It is no
// reference to a resource of the document, because the cluster shares this security group and it belongs to no stack.
func (d *Describer) backendSecurityGroupReference() textOrReference {
	if id := d.KnownIDs[plan.BackendSecurityGroupAddress]; id != "" {
		return textWithoutReference(id)
	}
	return textWithoutReference(naming.BackendSecurityGroupName(d.Opt.Cluster))
}

// securityGroupReferences returns references to the security groups of the stack, followed by the ids of other security
// groups.
func (d *Describer) securityGroupReferences(groups []plan.SecurityGroupRef) []textOrReference {
	var out []textOrReference
	var ids []string
	for _, g := range groups {
		switch {
		case g.ID != "":
			ids = append(ids, g.ID)
		case g.Address == plan.BackendSecurityGroupAddress:
			ids = append(ids, d.backendSecurityGroupReference().text)
		default:
			out = append(out, securityGroupIDReference(g.Address.ID))
		}
	}
	for _, id := range equal.SortedUnique(ids) {
		out = append(out, textWithoutReference(id))
	}
	return out
}

// targetGroupReference returns a reference to a target group of the document, or the ARN if the document does not have the
// target group.
func (d *Describer) targetGroupReference(r model.TargetGroupRef) textOrReference {
	if r.ID != "" {
		return targetGroupARNReference(r.ID)
	}
	for id, arn := range d.TargetGroups.LiveTargetGroupARNs {
		if arn == r.ARN && d.hasResource(TypeTargetGroup, id) {
			return targetGroupARNReference(id)
		}
	}
	return textWithoutReference(r.ARN)
}

// setting is an attribute of a load balancer or target group in a document.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// sortedSettings returns the entries of a map, sorted by key.
func sortedSettings(m map[string]string) []setting {
	var out []setting
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, setting{k, m[k]})
	}
	return out
}
