package model

import "cmp"

// Kind is the dialect that a stack is written in. It decides the prefix of the tracking tags. What differs between kinds is in
// the table of this file, so that the stages that all kinds go through ask for a property and never for a kind.
type Kind string

// The kinds of stacks.
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

// kinds are the properties of kinds. Tags, names in metrics and keys of logs are what live clusters, dashboards and tools have.
var kinds = map[Kind]struct {
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

// TagPrefix returns the prefix of the tracking tags and stack labels of the kind.
func (k Kind) TagPrefix() string {
	if p := kinds[k].tags; p != "" {
		return p
	}
	panic("unknown stack kind " + string(k))
}

// Object returns the kind of the objects that make up stacks of the kind.
func (k Kind) Object() string { return cmp.Or(kinds[k].object, string(k)) }

// Controller names in metrics and logs what works on stacks of the kind.
func (k Kind) Controller() string { return kinds[k].controller }

// Consumer returns the same in the metric of top consumers. For Gateways it is another name, because dashboards that
// were made for older controllers look for these.
func (k Kind) Consumer() string { return kinds[k].consumer }

// LogKey returns the key by which tools that read logs find a stack.
func (k Kind) LogKey() string { return kinds[k].logKey }

// HasRules reports whether load balancers of the kind have rules and answers of their own, as ALBs do.
func (k Kind) HasRules() bool { return kinds[k].rules }

// HasGroupOrder reports whether users order the members of a stack of the kind, and with them its rules.
func (k Kind) HasGroupOrder() bool { return kinds[k].ordered }

// OfGateway reports whether stacks of the kind are Gateways.
func (k Kind) OfGateway() bool { return kinds[k].gateway }

// HasAccelerator reports whether stacks of the kind have an accelerator instead of a load balancer.
func (k Kind) HasAccelerator() bool { return kinds[k].accelerator }

// Adopter returns the kind of the Gateways that can take over load balancers of a kind of stacks, "" if none can.
func (k Kind) Adopter() Kind { return kinds[k].adopter }
