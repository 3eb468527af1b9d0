package assemble

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// BindingRequest asks for the binding of a finished target group.
type BindingRequest struct {
	Group      Group
	Namespace  string
	Service    string
	Port       intstr.IntOrString // as the backend names it
	NodeLabels map[string]string
	// NodeSelector is in place of NodeLabels.
	NodeSelector *metav1.LabelSelector
	// Labels and Annotations of the binding, besides those of the stack.
	Labels, Annotations map[string]string
	// MultiCluster leaves targets of others alone.
	MultiCluster bool
	// Peer is where traffic comes from; nil asks for no rules on nodes and pods.
	Peer *model.Peer
	// Clients are the clients of a network load balancer without security groups, in place of a Peer.
	Clients *Clients
	// AllPorts asks for one rule over all ports instead of one per port.
	AllPorts bool
	// PerPort asks for a rule for each port that differs, as Gateways have it, and Ingresses and Services do not.
	PerPort bool
}

// Binding builds the binding of a target group.
func Binding(r BindingRequest) *model.Binding {
	b := &model.Binding{
		Namespace: r.Namespace, Name: r.Group.Name, Service: r.Service, Port: r.Port,
		MultiCluster: r.MultiCluster, Managed: r.Peer != nil || r.Clients != nil, Labels: r.Labels, Annotations: r.Annotations,
	}
	if r.Group.Type == model.InstanceTargets {
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
	case r.PerPort && !r.AllPorts:
		ports := r.networkPorts()
		if r.Group.ControlPort != nil {
			ports = append(ports, model.PeerPort{Protocol: "TCP", Port: new(intstr.FromInt32(*r.Group.ControlPort))})
		}
		for _, p := range ports {
			b.Networking = append(b.Networking, model.BindingRule{From: []model.Peer{*r.Peer}, Ports: []model.PeerPort{p}})
		}
		return b
	case r.PerPort || r.Group.ProtocolVersion == "":
		b.Networking = []model.BindingRule{{From: []model.Peer{*r.Peer}, Ports: r.networkPorts()}}
		return b
	}
	rule := func(port *intstr.IntOrString) {
		b.Networking = append(b.Networking, model.BindingRule{
			From: []model.Peer{*r.Peer}, Ports: []model.PeerPort{{Protocol: "TCP", Port: port}},
		})
	}
	if r.AllPorts {
		rule(nil)
		return b
	}
	// One rule per port, equal ports included: the list is compared as it stands with what older
	// controllers wrote.
	rule(&r.Group.Data)
	if n, err := strconv.ParseInt(r.Group.HealthCheck.Port, 10, 32); err == nil {
		rule(new(intstr.FromInt32(int32(n))))
	}
	if r.Group.ControlPort != nil {
		rule(new(intstr.FromInt32(*r.Group.ControlPort)))
	}
	return b
}
