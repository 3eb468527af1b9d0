package authz

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// call is an API call with its decoded input. For a structure inside the input, input is this structure.
type call struct {
	*store.Call
	input reflect.Value
}

func newCall(c *store.Call, in any) call { return call{c, reflect.ValueOf(in).Elem()} }

// stringMember returns the value of a string member of the input, or "" if the member is absent or not a string.
func (c call) stringMember(member string) string {
	f := c.input.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() || f.Elem().Kind() != reflect.String {
		if f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
		return ""
	}
	return f.Elem().String()
}

// stringListMember returns the value of an input member that is a list of strings, or nil for other members.
func (c call) stringListMember(member string) []string {
	f := c.input.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.String {
		return nil
	}
	out := make([]string, f.Len())
	for i := range out {
		out[i] = f.Index(i).String()
	}
	return out
}

// structureListMember returns the structures in an input member that is a list of structures, or nil for other members.
func (c call) structureListMember(member string) []call {
	f := c.input.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	out := make([]call, f.Len())
	for i := range out {
		out[i] = call{c.Call, f.Index(i)}
	}
	return out
}

// hasMember reports whether a member of the input exists and is not empty.
func (c call) hasMember(member string) bool {
	f := c.input.FieldByName(member)
	return f.IsValid() && !f.IsZero()
}

// requestTags returns the condition keys aws:RequestTag/KEY of the tags in the request, with their values.
func (c call) requestTags() map[string]string {
	out := map[string]string{}
	note := func(tags []call) {
		for _, t := range tags {
			out["aws:RequestTag/"+t.stringMember("Key")] = t.stringMember("Value")
		}
	}
	note(c.structureListMember("Tags"))
	for _, s := range c.structureListMember("TagSpecifications") {
		note(s.structureListMember("Tags"))
	}
	for _, k := range c.stringListMember("TagKeys") {
		out["aws:RequestTag/"+k] = ""
	}
	return out
}

// arnMembers lists the input members that contain the ARN of a resource on which the call acts.
var arnMembers = []string{
	"LoadBalancerArn", "TargetGroupArn", "ListenerArn", "RuleArn", "TrustStoreArn", "CertificateArn", "ResourceArn", "WebACLArn", "RoleArn",
	"AcceleratorArn", "EndpointGroupArn",
}

// resourceARNs returns the ARNs of the resources on which the call acts. It returns one empty string for a call without
// resources, such as most reads.
func (c call) resourceARNs() []string {
	var out []string
	switch {
	case (c.Service == "ec2" || c.Service == "elasticloadbalancing") && strings.HasPrefix(c.Operation, "Describe"):
	case c.Service == "ec2":
		out = c.ec2Resources()
	case c.Service == "elasticloadbalancing" && c.Operation == "CreateLoadBalancer":
		out = append(out, c.newLoadBalancerARN())
	case c.Service == "elasticloadbalancing" && c.Operation == "CreateTargetGroup":
		out = append(out, c.newTargetGroupARN())
	case c.Service == "iam":
		out = append(out, c.stringMember("PolicySourceArn"))
	case c.Service == "route53" && c.hasMember("HostedZoneId"):
		out = append(out, c.globalARN("route53", "", "hostedzone/"+strings.TrimPrefix(c.stringMember("HostedZoneId"), "/hostedzone/")))
	case c.Service == "shield" && !strings.HasPrefix(c.Operation, "Get"):
		out = append(out, c.globalARN("shield", c.Account, "protection/"+c.stringMember("ProtectionId")))
	case c.Service == "waf-regional" && c.hasMember("WebACLId"):
		out = append(out, c.arn("waf-regional", "webacl/"+c.stringMember("WebACLId")), c.stringMember("ResourceArn"))
	case c.Service == "globalaccelerator" && c.Operation == "CreateAccelerator":
		out = append(out, c.newAcceleratorARN())
	default:
		for _, m := range arnMembers {
			if arn := c.stringMember(m); arn != "" {
				out = append(out, arn)
			}
		}
		out = append(out, c.stringListMember("ResourceArns")...)
		for _, p := range c.structureListMember("RulePriorities") {
			out = append(out, p.stringMember("RuleArn"))
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// ec2ResourceTypes maps the prefix of an EC2 resource ID to the resource type in ARNs.
var ec2ResourceTypes = map[string]string{
	"sg": "security-group", "sgr": "security-group-rule", "subnet": "subnet", "vpc": "vpc", "i": "instance", "eni": "network-interface",
	"rtb": "route-table", "igw": "internet-gateway", "eipalloc": "elastic-ip", "pl": "prefix-list",
}

func (c call) ec2ARN(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	return c.arn("ec2", cmp.Or(ec2ResourceTypes[prefix], prefix)+"/"+id)
}

func (c call) ec2Resources() []string {
	var out []string
	if c.Operation == "CreateSecurityGroup" {
		out = append(out, c.newSecurityGroupARN())
		if vpc := c.stringMember("VpcId"); vpc != "" {
			out = append(out, c.ec2ARN(vpc))
		}
		return out
	}
	if id := c.stringMember("GroupId"); id != "" {
		out = append(out, c.ec2ARN(id))
	}
	for _, id := range c.stringListMember("Resources") {
		out = append(out, c.ec2ARN(id))
	}
	return out
}

func (c call) newSecurityGroupARN() string { return c.arn("ec2", "security-group/sg-"+placeholderID) }

func (c call) newTargetGroupARN() string {
	return c.arn("elasticloadbalancing", "targetgroup/"+c.stringMember("Name")+"/"+placeholderID)
}

func (c call) newLoadBalancerARN() string {
	kind := "app"
	if c.stringMember("Type") == "network" {
		kind = "net"
	}
	return c.arn("elasticloadbalancing", "loadbalancer/"+kind+"/"+c.stringMember("Name")+"/"+placeholderID)
}

func (c call) newAcceleratorARN() string {
	return c.globalARN("globalaccelerator", c.Account, "accelerator/"+placeholderID)
}

// newChildARN returns the ARN of a resource that the call is going to create below another resource: a listener of a load
// balancer, or a rule of a listener.
func newChildARN(parent, kind, parentKind string) string {
	return strings.Replace(parent, ":"+parentKind+"/", ":"+kind+"/", 1) + "/" + placeholderID
}

// resourceTags returns the tags of the resource with an ARN, or nil if the resource does not exist.
func (c call) resourceTags(arn string) map[string]string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 && parts[2] == "shield" {
		if x := c.Partition.Store().Partition(c.Account, c.Partition.AWSPartition().Home).Shield.Protections[strings.TrimPrefix(parts[5], "protection/")]; x != nil {
			return x.Tags
		}
		return nil
	}
	tags, _ := findTags(c.Partition, arn)
	return tags
}

// isMissing reports whether the resource with an ARN does not exist. It returns false for a resource that the call creates,
// and for resource types that findTags does not look up: no condition of a policy uses their tags.
func isMissing(p *store.Partition, arn string) bool {
	if strings.Contains(arn, placeholderID) {
		return false
	}
	_, exists := findTags(p, arn)
	return !exists
}

// findTags returns the tags of the resource with an ARN, and whether the resource exists. It assumes that a resource of
// any type without a case in this function exists.
func findTags(p *store.Partition, arn string) (tags map[string]string, exists bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return nil, true
	}
	switch parts[2] {
	case "ec2":
		kind, id, _ := strings.Cut(parts[5], "/")
		return p.Tags[id], kind != "security-group" || p.SecurityGroups[id] != nil
	case "acm":
		if x := p.ACM.Certificates[arn]; x != nil {
			return x.Tags, true
		}
		return nil, false
	case "elasticloadbalancing":
		return elbTags(p.ELB, arn)
	case "globalaccelerator":
		// Listeners and endpoint groups have the tags of their accelerator.
		st := p.Store().AcceleratorState(p.Account)
		if a, _, _ := st.ResolveARN(arn); a != nil {
			return a.Tags, st.HasARN(arn)
		}
		return nil, false
	}
	return nil, true
}

func elbTags(s *store.ELBState, arn string) (tags map[string]string, exists bool) {
	if x := s.LoadBalancers[arn]; x != nil {
		return x.Tags, true
	}
	if x := s.TargetGroups[arn]; x != nil {
		return x.Tags, true
	}
	if x := s.Listeners[arn]; x != nil {
		return x.Tags, true
	}
	if x := s.Rules[arn]; x != nil {
		return x.Tags, true
	}
	if x := s.TrustStores[arn]; x != nil {
		return x.Tags, true
	}
	return nil, false
}
