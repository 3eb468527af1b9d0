package authz

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// call is a call with its decoded input.
type call struct {
	*store.Call
	in reflect.Value
}

func newCall(c *store.Call, in any) call { return call{c, reflect.ValueOf(in).Elem()} }

// text returns the value of a member of the input that is a string, "" if it is absent.
func (c call) text(member string) string {
	f := c.in.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() || f.Elem().Kind() != reflect.String {
		if f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
		return ""
	}
	return f.Elem().String()
}

// texts returns the value of a member of the input that is a list of strings.
func (c call) texts(member string) []string {
	f := c.in.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.String {
		return nil
	}
	out := make([]string, f.Len())
	for i := range out {
		out[i] = f.Index(i).String()
	}
	return out
}

// list returns the structures of a member of the input that is a list of structures.
func (c call) list(member string) []call {
	f := c.in.FieldByName(member)
	if !f.IsValid() || f.Kind() != reflect.Slice || f.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	out := make([]call, f.Len())
	for i := range out {
		out[i] = call{c.Call, f.Index(i)}
	}
	return out
}

// has reports whether a member of the input is set.
func (c call) has(member string) bool {
	f := c.in.FieldByName(member)
	return f.IsValid() && !f.IsZero()
}

// requestTags returns the condition keys of the tags that the request names.
func (c call) requestTags() map[string]string {
	out := map[string]string{}
	note := func(tags []call) {
		for _, t := range tags {
			out["aws:RequestTag/"+t.text("Key")] = t.text("Value")
		}
	}
	note(c.list("Tags"))
	for _, s := range c.list("TagSpecifications") {
		note(s.list("Tags"))
	}
	for _, k := range c.texts("TagKeys") {
		out["aws:RequestTag/"+k] = ""
	}
	return out
}

// arnMembers has the members of inputs that contain the ARN of a resource of the call.
var arnMembers = []string{
	"LoadBalancerArn", "TargetGroupArn", "ListenerArn", "RuleArn", "TrustStoreArn", "CertificateArn", "ResourceArn", "WebACLArn", "RoleArn",
	"AcceleratorArn", "EndpointGroupArn",
}

// resources returns the ARNs of the resources of the action, or one empty string for an action without resources,
// such as most reads.
func (c call) resources() []string {
	var out []string
	switch {
	case (c.Service == "ec2" || c.Service == "elasticloadbalancing") && strings.HasPrefix(c.Operation, "Describe"):
	case c.Service == "ec2":
		out = c.ec2Resources()
	case c.Service == "elasticloadbalancing" && c.Operation == "CreateLoadBalancer":
		out = append(out, c.newLoadBalancer())
	case c.Service == "elasticloadbalancing" && c.Operation == "CreateTargetGroup":
		out = append(out, c.newTargetGroup())
	case c.Service == "iam":
		out = append(out, c.text("PolicySourceArn"))
	case c.Service == "route53" && c.has("HostedZoneId"):
		out = append(out, c.global("route53", "", "hostedzone/"+strings.TrimPrefix(c.text("HostedZoneId"), "/hostedzone/")))
	case c.Service == "shield" && !strings.HasPrefix(c.Operation, "Get"):
		out = append(out, c.global("shield", c.Account, "protection/"+c.text("ProtectionId")))
	case c.Service == "waf-regional" && c.has("WebACLId"):
		out = append(out, c.arn("waf-regional", "webacl/"+c.text("WebACLId")), c.text("ResourceArn"))
	case c.Service == "globalaccelerator" && c.Operation == "CreateAccelerator":
		out = append(out, c.newAccelerator())
	default:
		for _, m := range arnMembers {
			if arn := c.text(m); arn != "" {
				out = append(out, arn)
			}
		}
		out = append(out, c.texts("ResourceArns")...)
		for _, p := range c.list("RulePriorities") {
			out = append(out, p.text("RuleArn"))
		}
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// ec2Kinds maps prefixes of ids of EC2 to resource types in ARNs.
var ec2Kinds = map[string]string{
	"sg": "security-group", "sgr": "security-group-rule", "subnet": "subnet", "vpc": "vpc", "i": "instance", "eni": "network-interface",
	"rtb": "route-table", "igw": "internet-gateway", "eipalloc": "elastic-ip", "pl": "prefix-list",
}

func (c call) ec2ARN(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	return c.arn("ec2", cmp.Or(ec2Kinds[prefix], prefix)+"/"+id)
}

func (c call) ec2Resources() []string {
	var out []string
	if c.Operation == "CreateSecurityGroup" {
		out = append(out, c.newSecurityGroup())
		if vpc := c.text("VpcId"); vpc != "" {
			out = append(out, c.ec2ARN(vpc))
		}
		return out
	}
	if id := c.text("GroupId"); id != "" {
		out = append(out, c.ec2ARN(id))
	}
	for _, id := range c.texts("Resources") {
		out = append(out, c.ec2ARN(id))
	}
	return out
}

func (c call) newSecurityGroup() string { return c.arn("ec2", "security-group/sg-"+newID) }

func (c call) newTargetGroup() string {
	return c.arn("elasticloadbalancing", "targetgroup/"+c.text("Name")+"/"+newID)
}

func (c call) newLoadBalancer() string {
	kind := "app"
	if c.text("Type") == "network" {
		kind = "net"
	}
	return c.arn("elasticloadbalancing", "loadbalancer/"+kind+"/"+c.text("Name")+"/"+newID)
}

func (c call) newAccelerator() string {
	return c.global("globalaccelerator", c.Account, "accelerator/"+newID)
}

// newChildARN returns the ARN of a new resource that is part of another: a listener of a load balancer, or a rule of a listener.
func newChildARN(parent, kind, parentKind string) string {
	return strings.Replace(parent, ":"+parentKind+"/", ":"+kind+"/", 1) + "/" + newID
}

// tagsOf returns the tags of a resource, nil if it does not exist.
func (c call) tagsOf(arn string) map[string]string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 && parts[2] == "shield" {
		if x := c.Partition.Store().Partition(c.Account, c.Partition.AWS().Home).Shield.Protections[strings.TrimPrefix(parts[5], "protection/")]; x != nil {
			return x.Tags
		}
		return nil
	}
	tags, _ := tagsIn(c.Partition, arn)
	return tags
}

// isMissing reports whether the resource of an ARN does not exist. It returns false for kinds whose tags are not
// used in conditions of policies.
func isMissing(p *store.Partition, arn string) bool {
	if strings.Contains(arn, newID) {
		return false
	}
	_, exists := tagsIn(p, arn)
	return !exists
}

// tagsIn returns the tags of a resource, and whether it exists. Resources of other kinds count as existing.
func tagsIn(p *store.Partition, arn string) (tags map[string]string, exists bool) {
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
		if a, _, _ := st.AcceleratorOf(arn); a != nil {
			return a.Tags, st.Exists(arn)
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
