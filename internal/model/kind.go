package model

import "cmp"

// Kind is the kind of a stack: the kind of its objects and, for Gateways, the type of load balancer. kindProperties has all
// differences between kinds, so that other code reads a property instead of comparing kinds.
type Kind string

// The values of Kind.
const (
	Ingress    Kind = "Ingress"
	Service    Kind = "Service"
	ALBGateway Kind = "ALBGateway"
	NLBGateway Kind = "NLBGateway"
	// GlobalAccelerator stacks have an accelerator instead of a load balancer.
	GlobalAccelerator Kind = "GlobalAccelerator"
)

// Kinds are all kinds of stacks.
var Kinds = []Kind{Ingress, Service, ALBGateway, NLBGateway, GlobalAccelerator}

// kindProperties has the properties of each Kind. Tags, names in metrics and keys in logs must not change, because existing
// clusters, dashboards and tools use them.
var kindProperties = map[Kind]struct {
	tags, object                 string
	controller, consumer, logKey string
	rules, ordered               bool
	gateway, accelerator         bool
	adopter                      Kind
}{
	Ingress: {
		tags: "ingress.k8s.aws", controller: "ingress", consumer: "ingress", logKey: "ingressGroup",
		rules: true, ordered: true, adopter: ALBGateway,
	},
	Service: {
		tags: "service.k8s.aws", controller: "service", consumer: "service", logKey: "service",
		adopter: NLBGateway,
	},
	ALBGateway: {
		tags: "gateway.k8s.aws.alb", object: "Gateway", controller: "gateway.k8s.aws/alb", consumer: "albgateway", logKey: "gateway",
		rules: true, gateway: true,
	},
	NLBGateway: {
		tags: "gateway.k8s.aws.nlb", object: "Gateway", controller: "gateway.k8s.aws/nlb", consumer: "nlbgateway", logKey: "gateway",
		gateway: true,
	},
	GlobalAccelerator: {
		tags: "aga.k8s.aws", controller: "globalAccelerator", consumer: "globalaccelerator",
		logKey: "globalAccelerator", accelerator: true,
	},
}

// TagPrefix returns the prefix of the stack tag, the resource tag and the stack labels of the kind. It panics for an unknown
// kind.
func (k Kind) TagPrefix() string {
	if p := kindProperties[k].tags; p != "" {
		return p
	}
	panic("unknown stack kind " + string(k))
}

// ObjectKind returns the kind of the objects that make up stacks of the kind.
func (k Kind) ObjectKind() string { return cmp.Or(kindProperties[k].object, string(k)) }

// ControllerName returns the name of the controller for stacks of the kind in metrics and logs.
func (k Kind) ControllerName() string { return kindProperties[k].controller }

// ConsumerName returns the name of the controller in the metric of top consumers. For Gateways it differs from
// ControllerName, because dashboards for aws-load-balancer-controller use the names of this method.
func (k Kind) ConsumerName() string { return kindProperties[k].consumer }

// LogKey returns the key of the stack in log entries. Tools search logs for this key.
func (k Kind) LogKey() string { return kindProperties[k].logKey }

// HasRules reports whether load balancers of the kind have listener rules and fixed responses, as ALBs do.
func (k Kind) HasRules() bool { return kindProperties[k].rules }

// HasGroupOrder reports whether users can set the order of the members of a stack of the kind. The order of the members
// determines the order of their rules.
func (k Kind) HasGroupOrder() bool { return kindProperties[k].ordered }

// IsGateway reports whether stacks of the kind belong to Gateways.
func (k Kind) IsGateway() bool { return kindProperties[k].gateway }

// HasAccelerator reports whether stacks of the kind have an accelerator instead of a load balancer.
func (k Kind) HasAccelerator() bool { return kindProperties[k].accelerator }

// AdopterKind returns the kind of Gateway stack that can take over load balancers of this kind; "" if there is none.
func (k Kind) AdopterKind() Kind { return kindProperties[k].adopter }
