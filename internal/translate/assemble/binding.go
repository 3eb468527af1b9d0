package assemble

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// BindingRequest is the input of NewBinding. All fields of TargetGroup must be set.
type BindingRequest struct {
	TargetGroup TargetGroup
	Namespace   string
	Service     string
	Port        intstr.IntOrString // the port number or name in the backend
	NodeLabels  map[string]string
	// NodeSelector is used if NodeLabels is empty.
	NodeSelector *metav1.LabelSelector
	// Labels and Annotations are added to those that identify the stack.
	Labels, Annotations map[string]string
	// MultiCluster reports whether targets that other clusters registered in the target group are kept.
	MultiCluster bool
	// Peer is the source of traffic that the security group rules of nodes and pods admit. It is nil if the controller
	// does not manage these rules.
	Peer *model.Peer
	// Clients is set instead of Peer for a network load balancer without security groups.
	Clients *Clients
	// OpenAllPorts makes one rule for all ports, instead of rules for the ports of the targets.
	OpenAllPorts bool
	// RulePerPort makes one rule for each distinct port, as aws-load-balancer-controller does for Gateways. Without it,
	// the rules are those that aws-load-balancer-controller makes for Ingresses and Services.
	RulePerPort bool
}

// NewBinding builds the TargetGroupBinding of a target group.
func NewBinding(r BindingRequest) *model.Binding {
	b := &model.Binding{
		Namespace: r.Namespace, Name: r.TargetGroup.Name, Service: r.Service, Port: r.Port,
		MultiCluster: r.MultiCluster, Managed: r.Peer != nil || r.Clients != nil, Labels: r.Labels, Annotations: r.Annotations,
	}
	if r.TargetGroup.Type == model.InstanceTargets {
		b.NodeSelector = r.NodeSelector
		if len(r.NodeLabels) > 0 {
			b.NodeSelector = &metav1.LabelSelector{MatchLabels: r.NodeLabels}
		}
	}
	switch {
	case r.Clients != nil:
		b.Networking = r.clientRules()
		return b
	case r.Peer == nil:
		return b
	case r.RulePerPort && !r.OpenAllPorts:
		ports := r.networkPorts()
		if r.TargetGroup.ControlPort != nil {
			ports = append(ports, model.PeerPort{Protocol: "TCP", Port: new(intstr.FromInt32(*r.TargetGroup.ControlPort))})
		}
		for _, p := range ports {
			b.Networking = append(b.Networking, model.BindingRule{From: []model.Peer{*r.Peer}, Ports: []model.PeerPort{p}})
		}
		return b
	case r.RulePerPort || r.TargetGroup.ProtocolVersion == "":
		b.Networking = []model.BindingRule{{From: []model.Peer{*r.Peer}, Ports: r.networkPorts()}}
		return b
	}
	rule := func(port *intstr.IntOrString) {
		b.Networking = append(b.Networking, model.BindingRule{
			From: []model.Peer{*r.Peer}, Ports: []model.PeerPort{{Protocol: "TCP", Port: port}},
		})
	}
	if r.OpenAllPorts {
		rule(nil)
		return b
	}
	// There is one rule for each port, even if ports are equal. The list of rules must be equal to the list that
	// aws-load-balancer-controller wrote.
	rule(&r.TargetGroup.TrafficPort)
	if n, err := strconv.ParseInt(r.TargetGroup.HealthCheck.Port, 10, 32); err == nil {
		rule(new(intstr.FromInt32(int32(n))))
	}
	if r.TargetGroup.ControlPort != nil {
		rule(new(intstr.FromInt32(*r.TargetGroup.ControlPort)))
	}
	return b
}
