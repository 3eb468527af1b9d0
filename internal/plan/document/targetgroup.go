package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

type targetGroupSpec struct {
	Name            string            `json:"name"`
	Type            model.TargetType  `json:"targetType"`
	Port            int32             `json:"port"`
	Protocol        string            `json:"protocol"`
	ProtocolVersion string            `json:"protocolVersion,omitempty"`
	AddressType     model.AddressType `json:"ipAddressType,omitempty"`
	HealthCheck     healthCheckSpec   `json:"healthCheckConfig"`
	Attributes      []setting         `json:"targetGroupAttributes,omitempty"`
	Tags            map[string]string `json:"tags,omitempty"`
	ControlPort     *int32            `json:"targetControlPort,omitempty"`
}

type healthCheckSpec struct {
	Port               *intstr.IntOrString `json:"port,omitempty"`
	Protocol           string              `json:"protocol,omitempty"`
	Path               string              `json:"path,omitempty"`
	Matcher            *matcherSpec        `json:"matcher,omitempty"`
	Interval           int32               `json:"intervalSeconds,omitempty"`
	Timeout            int32               `json:"timeoutSeconds,omitempty"`
	HealthyThreshold   int32               `json:"healthyThresholdCount,omitempty"`
	UnhealthyThreshold int32               `json:"unhealthyThresholdCount,omitempty"`
}

type matcherSpec struct {
	HTTP string `json:"httpCode,omitempty"`
	GRPC string `json:"grpcCode,omitempty"`
}

// bindingSpec is the TargetGroupBinding of a target group in a document.
type bindingSpec struct {
	Template bindingTemplate `json:"template"`
}

type bindingTemplate struct {
	Metadata bindingMeta            `json:"metadata"`
	Spec     targetGroupBindingSpec `json:"spec"`
}

// bindingMeta has the metadata of a binding, without the labels that identify the stack.
type bindingMeta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type targetGroupBindingSpec struct {
	ARN          textOrReference       `json:"targetGroupARN"`
	MultiCluster bool                  `json:"multiClusterTargetGroup,omitempty"`
	Type         model.TargetType      `json:"targetType"`
	Protocol     string                `json:"targetGroupProtocol,omitempty"`
	Service      serviceRef            `json:"serviceRef"`
	Networking   *networkingSpec       `json:"networking,omitempty"`
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	AddressType  model.AddressType     `json:"ipAddressType,omitempty"`
	VPC          string                `json:"vpcID,omitempty"`
}

type serviceRef struct {
	Name string             `json:"name"`
	Port intstr.IntOrString `json:"port"`
}

type networkingSpec struct {
	Ingress []networkingRule `json:"ingress,omitempty"`
}

type networkingRule struct {
	From  []peerSpec `json:"from"`
	Ports []portSpec `json:"ports"`
}

type peerSpec struct {
	IPBlock       *ipBlock           `json:"ipBlock,omitempty"`
	SecurityGroup *peerSecurityGroup `json:"securityGroup,omitempty"`
}

type ipBlock struct {
	CIDR string `json:"cidr"`
}

type peerSecurityGroup struct {
	ID textOrReference `json:"groupID"`
}

type portSpec struct {
	Protocol string              `json:"protocol,omitempty"`
	Port     *intstr.IntOrString `json:"port,omitempty"`
}

// describeTargetGroups adds the target groups of the stack and their bindings to the document. Target groups of the frontend
// NLB are added elsewhere.
func (d *Describer) describeTargetGroups() {
	for _, w := range d.Want.TargetGroups {
		if (w.Type != model.ALBTargets || w.LoadBalancer != "") && d.TargetGroups.IsPlanned(w) {
			d.describeTargetGroup(w)
		}
	}
}

// describeTargetGroup adds a target group and its binding to the document.
func (d *Describer) describeTargetGroup(w model.TargetGroup) {
	d.addResource(TypeTargetGroup, w.ID, targetGroupSpec{
		Name: w.Name, Type: w.Type, Port: w.Port, Protocol: w.Protocol, ProtocolVersion: w.ProtocolVersion,
		AddressType: w.AddressType, HealthCheck: healthCheckOf(w.HealthCheck), Attributes: sortedSettings(w.Attributes),
		Tags: w.Tags, ControlPort: w.ControlPort,
	})
	if w.Binding == nil {
		return
	}
	spec := targetGroupBindingSpec{
		ARN: targetGroupARNReference(w.ID), MultiCluster: w.Binding.MultiCluster, Type: w.Type, Protocol: w.Protocol,
		Service: serviceRef{w.Binding.Service, w.Binding.Port}, NodeSelector: w.Binding.NodeSelector,
		AddressType: w.AddressType, VPC: d.Opt.VPC,
	}
	switch {
	case d.Want.Held.SecurityGroups:
		// The networking rules of the existing binding are retained, and omitted from the document.
	case w.Binding.Managed:
		if rules, known := d.TargetGroups.NetworkingRules(w); known {
			spec.Networking = &networkingSpec{}
			for _, r := range rules {
				spec.Networking.Ingress = append(spec.Networking.Ingress, d.networkingRuleOf(r))
			}
		}
	}
	meta := bindingMeta{w.Binding.Name, w.Binding.Namespace, w.Binding.Labels, w.Binding.Annotations}
	d.addResource(TypeTargetGroupBinding, w.ID, bindingSpec{bindingTemplate{meta, spec}})
}

// networkingRuleOf converts a networking rule of a binding to its form in a document.
func (d *Describer) networkingRuleOf(r model.BindingRule) networkingRule {
	out := networkingRule{From: []peerSpec{}, Ports: []portSpec{}}
	for _, p := range r.From {
		switch {
		case p.ManagedSecurityGroup:
			out.From = append(out.From, peerSpec{SecurityGroup: &peerSecurityGroup{securityGroupIDReference(model.ManagedSecurityGroupID)}})
		case p.BackendSecurityGroup:
			out.From = append(out.From, peerSpec{SecurityGroup: &peerSecurityGroup{d.backendSecurityGroupReference()}})
		default:
			out.From = append(out.From, peerSpec{IPBlock: &ipBlock{p.CIDR}})
		}
	}
	for _, p := range r.Ports {
		out.Ports = append(out.Ports, portSpec(p))
	}
	return out
}

// healthCheckOf converts a health check to its form in a document.
func healthCheckOf(h model.HealthCheck) healthCheckSpec {
	out := healthCheckSpec{
		Protocol: h.Protocol, Path: h.Path, Interval: h.IntervalSeconds, Timeout: h.TimeoutSeconds,
		HealthyThreshold: h.HealthyThreshold, UnhealthyThreshold: h.UnhealthyThreshold,
	}
	if h.Port != "" {
		p := intstr.Parse(h.Port)
		out.Port = &p
	}
	if h.HTTPCodes != "" || h.GRPCCodes != "" {
		out.Matcher = &matcherSpec{h.HTTPCodes, h.GRPCCodes}
	}
	return out
}
