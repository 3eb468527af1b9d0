package targets

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// RuleDemand has the rules that one binding needs in the security groups of its endpoints.
type RuleDemand struct {
	Ref finding.Ref // the binding
	// PodDemands has the rules that each pod among the endpoints needs.
	PodDemands []EndpointDemand
	// Nodes has the endpoints that are nodes. All of them need NodeRules.
	Nodes     *NodeList
	NodeRules []model.IngressRule
	// Faulty is set if some rules cannot be determined until a user corrects the binding. In this case, no rules may be
	// removed from the security groups of the endpoints.
	Faulty bool
	// ENIUnknown is set if the ENI of an endpoint cannot be determined.
	ENIUnknown bool
	Findings   finding.List
}

// EndpointDemand has the rules that one endpoint needs, and the lookups by which its ENI can be found. The first lookup that
// finds an ENI is used.
type EndpointDemand struct {
	Endpoint string // name of the pod, for messages
	Lookups  []ENILookup
	Rules    []model.IngressRule
	// ChangedAt is the time at which the pod was created or its containers last became ready or not ready; for a terminating
	// pod, the time at which it must have ended.
	ChangedAt time.Time
}

// ENILookup is a way to find an ENI. Exactly one of ENI, Instance and Address is set.
type ENILookup struct {
	// ENI is the ID of the ENI. The ENI must have the address EndpointIP, because the author of the pod may have written the
	// annotation with the ID.
	ENI string
	// Instance is the instance of the node. Its ENI with the address EndpointIP is used, or its primary ENI if EndpointIP is
	// empty.
	Instance string
	// Address is a private address of the ENI. If EndpointIP is set, the ENI must also have that address.
	Address string
	// EndpointIP is the address of the endpoint.
	EndpointIP string
}

// RuleDemandOf returns the rules that a binding needs; none if it has no spec.networking.
func RuleDemandOf(v *cluster.View, b *elbv2.TargetGroupBinding, found Resolution) RuleDemand {
	d := RuleDemand{Ref: BindingRef(b)}
	if b.Spec.Networking == nil {
		return d
	}
	warnEmptyPorts(b, &d)
	if found.Nodes.Len() > 0 {
		d.Nodes, d.NodeRules = found.Nodes, d.computeRules(b, nil, nil)
		d.Findings = d.Findings.Sorted()
		return d
	}
	seen := make(map[string]bool, len(found.endpoints))
	shared := podRules{binding: b, names: portNames(b), byNumbers: map[string][]model.IngressRule{}}
	d.PodDemands = make([]EndpointDemand, 0, len(found.endpoints))
	for _, e := range found.endpoints {
		if seen[e.Pod.Name] {
			continue // a pod may have several endpoints
		}
		seen[e.Pod.Name] = true
		node, ok := cluster.Get[*corev1.Node](v, cluster.KindNode, "", e.Pod.Spec.NodeName)
		if !ok {
			d.reportUnknownENI(fmt.Sprintf("node %q of pod %s does not exist", e.Pod.Spec.NodeName, e.Pod.Name))
			continue
		}
		lookups, inVPC := eniLookups(e, node)
		if !inVPC {
			continue
		}
		if len(lookups) == 0 {
			d.reportUnknownENI(fmt.Sprintf("node %s of pod %s is not an EC2 instance", node.Name, e.Pod.Name))
			continue
		}
		d.PodDemands = append(d.PodDemands, EndpointDemand{e.Pod.Name, lookups, shared.rulesOf(e.Pod, &d), podChangedAt(e.Pod)})
	}
	d.Findings = d.Findings.Sorted()
	return d
}

// podRules has the rules that the pods of a binding need. Pods in which the port names of the networking rules have the same
// numbers share one list.
type podRules struct {
	binding   *elbv2.TargetGroupBinding
	names     []string                       // distinct port names of the networking rules
	byNumbers map[string][]model.IngressRule // by the numbers of the names
}

// rulesOf returns the rules that a pod needs. If all pods together need more than maxRules, it returns none and adds a
// finding to d.
func (s podRules) rulesOf(pod *corev1.Pod, d *RuleDemand) []model.IngressRule {
	var key []byte
	var numbers map[string]int32
	if len(s.names) > 0 {
		numbers = containerPorts(pod)
		for _, name := range s.names {
			key = append(strconv.AppendInt(key, int64(numbers[name]), 10), ' ')
		}
	}
	if rules, known := s.byNumbers[string(key)]; known {
		return rules
	}
	if len(s.byNumbers) > 0 && (len(s.byNumbers)+1)*countRules(s.binding) > maxRules {
		d.reportInvalidRule("spec.networking", fmt.Sprintf("ports and peers make more than %d rules, because port names have different numbers in different pods", maxRules))
		return nil
	}
	rules := d.computeRules(s.binding, pod, numbers)
	s.byNumbers[string(key)] = rules
	return rules
}

// portNames returns the distinct port names of the networking rules. Their numbers may differ among pods.
func portNames(b *elbv2.TargetGroupBinding) []string {
	names := map[string]bool{}
	for _, in := range b.Spec.Networking.Ingress {
		for _, p := range in.Ports {
			if p.Port != nil && p.Port.Type == intstr.String {
				names[p.Port.StrVal] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// reportUnknownENI reports an endpoint whose ENI cannot be determined.
func (d *RuleDemand) reportUnknownENI(why string) {
	d.ENIUnknown = true
	d.Findings.Add(finding.Finding{
		Object: d.Ref, Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
		Message: why + ", so its security group is unknown", Fix: "check the node",
	})
}

// podChangedAt returns the time at which a pod was created or its containers last became ready or not ready; for a
// terminating pod, the time at which it must have ended.
func podChangedAt(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	if d := pod.DeletionTimestamp; d != nil && d.After(at) {
		at = d.Time
	}
	for _, c := range pod.Status.Conditions {
		if t := c.LastTransitionTime.Time; c.Type == corev1.ContainersReady && t.After(at) {
			at = t
		}
	}
	return at
}

// eniLookups returns the lookups by which the ENI of a pod can be found; false if the pod has no ENI in the VPC.
func eniLookups(e Endpoint, n *corev1.Node) ([]ENILookup, bool) {
	switch {
	case n.Labels[computeTypeLabel] == "fargate":
		return []ENILookup{{Address: e.ID}}, true
	case n.Labels["sagemaker.amazonaws.com/compute-type"] == "hyperpod":
		out := []ENILookup{{Address: e.ID}}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return append(out, ENILookup{Address: a.Address, EndpointIP: e.ID}), true
			}
		}
		return out, true
	case n.Labels[computeTypeLabel] == "hybrid":
		return nil, false
	}
	var out []ENILookup
	if id, ok := branchENI(e); ok {
		out = append(out, ENILookup{ENI: id, EndpointIP: e.ID})
	}
	if id, ok := InstanceID(n); ok {
		out = append(out, ENILookup{Instance: id, EndpointIP: e.ID})
	}
	return out, true
}

// eniID is the form of the ID of an ENI. The author of a pod can write any text into the annotation. Other texts could
// select other ENIs, or make EC2 refuse a call for the ENIs of the pods of several tenants.
var eniID = regexp.MustCompile(`^eni-[0-9a-f]{1,32}$`)

// branchENI returns the ID of the branch ENI of a pod that has security groups of its own, from the annotation of the pod.
func branchENI(e Endpoint) (string, bool) {
	text := e.Pod.Annotations["vpc.amazonaws.com/pod-eni"]
	if text == "" {
		return "", false
	}
	var entries []struct {
		ID string `json:"eniId"`
		V4 string `json:"privateIp"`
		V6 string `json:"ipv6Addr"`
	}
	if json.Unmarshal([]byte(text), &entries) != nil {
		return "", false
	}
	for _, i := range entries {
		if eniID.MatchString(i.ID) && (cluster.CanonicalIP(i.V4) == cluster.CanonicalIP(e.ID) || i.V6 != "" && cluster.CanonicalIP(i.V6) == cluster.CanonicalIP(e.ID)) {
			return i.ID, true
		}
	}
	return "", false
}

// maxRules is the maximum number of combinations of a port and a peer in spec.networking, where a port name counts for each
// number that it has in the pods. A security group can have at most 1000 rules, but the controller merges the ports of a
// peer into one rule.
const maxRules = 10_000

// countRules returns the number of combinations of a port and a peer in spec.networking.
func countRules(b *elbv2.TargetGroupBinding) (n int) {
	for _, in := range b.Spec.Networking.Ingress {
		n += len(in.Ports) * len(in.From)
	}
	return n
}

// computeRules returns the security group rules that one endpoint needs. pod is nil for a node; numbers has the container
// ports of the pod by name. If spec.networking has more than maxRules combinations, it returns none and adds a finding.
func (d *RuleDemand) computeRules(b *elbv2.TargetGroupBinding, pod *corev1.Pod, numbers map[string]int32) []model.IngressRule {
	if n := countRules(b); n > maxRules {
		d.reportInvalidRule("spec.networking", fmt.Sprintf("ports and peers make %d rules, and the limit is %d", n, maxRules))
		return nil
	}
	out := map[model.IngressRule]bool{}
	for i, in := range b.Spec.Networking.Ingress {
		field := fmt.Sprintf("spec.networking.ingress[%d]", i)
		for _, port := range in.Ports {
			rule, err := portRangeRule(port, pod, numbers)
			if err != nil {
				d.reportInvalidRule(field, err.Error())
				continue
			}
			for _, peer := range in.From {
				r := rule
				if err := setPeer(&r, peer); err != nil {
					d.reportInvalidRule(field, err.Error())
					continue
				}
				out[r] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(out), func(a, b model.IngressRule) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.CIDR, b.CIDR), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

// reportInvalidRule reports a networking rule that cannot be applied.
func (d *RuleDemand) reportInvalidRule(field, why string) {
	d.Faulty = true
	d.Findings.Add(finding.Finding{
		Object: d.Ref, Field: field, Reason: finding.NetworkingInvalid, Severity: finding.Error,
		Message: why, Fix: "correct the rule",
	})
}

// warnEmptyPorts reports networking rules without ports.
func warnEmptyPorts(b *elbv2.TargetGroupBinding, d *RuleDemand) {
	for i, in := range b.Spec.Networking.Ingress {
		if len(in.Ports) == 0 {
			d.Findings.Add(finding.Finding{
				Object: BindingRef(b), Field: fmt.Sprintf("spec.networking.ingress[%d].ports", i), Reason: finding.NetworkingInvalid,
				Severity: finding.Warning, Message: "the rule has no ports, so it admits no traffic", Fix: "list the ports, or one port without a number for all ports",
			})
		}
	}
}

// portRangeRule returns a rule without a source, with the protocol and port range of a networking port.
func portRangeRule(p elbv2.NetworkingPort, pod *corev1.Pod, numbers map[string]int32) (model.IngressRule, error) {
	r := model.IngressRule{Protocol: "tcp", To: 65535, Description: network.SharedRuleDescription}
	if p.Protocol != nil {
		r.Protocol = strings.ToLower(string(*p.Protocol))
	}
	switch {
	case p.Port == nil:
	case p.Port.Type == intstr.Int && (p.Port.IntVal < 0 || p.Port.IntVal > 65535):
		// AWS would refuse the range into which this port is merged with the ports of other bindings.
		return r, fmt.Errorf("port \"%d\" is not from 0 to 65535; no rule is added for it", p.Port.IntVal)
	case p.Port.Type == intstr.Int:
		r.From, r.To = p.Port.IntVal, p.Port.IntVal
	case pod == nil:
		return r, fmt.Errorf("port %q has to be a number for instance targets", p.Port.StrVal)
	default:
		number, ok := numbers[p.Port.StrVal]
		if !ok {
			return r, fmt.Errorf("pod %s has no container port %q", pod.Name, p.Port.StrVal)
		}
		r.From, r.To = number, number
	}
	return r, nil
}

// containerPorts returns the numbers of the named ports of the containers that run as long as the pod. If several containers
// have a port of the same name, the number is that of the first container.
func containerPorts(pod *corev1.Pod) map[string]int32 {
	out := map[string]int32{}
	for _, c := range servingContainers(pod) {
		for _, p := range c.Ports {
			if _, known := out[p.Name]; !known && p.Name != "" {
				out[p.Name] = p.ContainerPort
			}
		}
	}
	return out
}

// servingContainers returns the containers that run as long as the pod: its containers and its sidecars.
func servingContainers(pod *corev1.Pod) []corev1.Container {
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	return containers
}

// setPeer sets the source of a rule to the security group or the address range of a networking peer.
func setPeer(r *model.IngressRule, p elbv2.NetworkingPeer) error {
	switch {
	case p.SecurityGroup != nil:
		r.Group = p.SecurityGroup.GroupID
	case p.IPBlock != nil:
		cidr, err := network.CanonicalCIDR(p.IPBlock.CIDR)
		if err != nil {
			return fmt.Errorf("%q is not an address range in CIDR notation", p.IPBlock.CIDR)
		}
		r.CIDR = cidr
	default:
		return fmt.Errorf("a peer has neither ipBlock nor securityGroup")
	}
	return nil
}
