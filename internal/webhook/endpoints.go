package webhook

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// The paths. They are part of the compatibility contract.
const (
	PathPodGate        = "/mutate-v1-pod"
	PathPodServerID    = "/mutate-v1-pod-server-id"
	PathPodAgentByNS   = "/mutate-alb-target-control-namespace-v1-pod"
	PathPodAgentByPod  = "/mutate-alb-target-control-object-v1-pod"
	PathService        = "/mutate-v1-service"
	PathBindingDefault = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	PathBinding        = "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	PathParams         = "/validate-elbv2-k8s-aws-v1beta1-ingressclassparams"
	PathIngress        = "/validate-networking-v1-ingress"
	PathAccelerator    = "/validate-aga-k8s-aws-v1beta1-globalaccelerator"
)

// Translator is the Ingress frontend.
type Translator interface {
	Stacks(v *cluster.View, obj cluster.Object) []model.StackID
	Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List)
	// MayServe reports whether the Ingress is ours, or may be because its class cannot be
	// determined.
	MayServe(v *cluster.View, ing *networkingv1.Ingress) bool
}

// Config is what the rules need. A feature that is off leaves objects as they are; its path is
// served all the same, so that no request fails because it is missing.
type Config struct {
	// Source has everything but Secrets.
	Source cluster.Source
	// Namespace is the only one that Source has; empty: all. Requests for others are allowed
	// unchecked.
	Namespace string
	// Ingress translates Ingresses. IngressClass is the annotation value that it serves.
	Ingress      Translator
	IngressClass string
	// DenyClassAnnotation and DenyGroupName forbid new uses of the annotations.
	DenyClassAnnotation, DenyGroupName bool

	// ReadinessGates switches their injection on.
	ReadinessGates bool
	// ServerIDs returns QUIC server ids for ServerIDVariable; nil for none.
	ServerIDs        ServerIDs
	ServerIDVariable string
	// OwnNamespace is the namespace of the controller, empty outside a cluster.
	OwnNamespace string
	// AgentConfigs are the configurations of the target control agent; nil switches the injection off.
	AgentConfigs AgentConfigs
	// LoadBalancerClass is given to Services of type LoadBalancer without a class; empty leaves
	// Services alone.
	LoadBalancerClass string

	Accelerator AcceleratorOptions

	Log     logr.Logger
	Metrics *Metrics
	// Panics counts panics; nil to ignore.
	Panics prometheus.Counter
}

// AgentConfigs reads configurations of the target control agent.
type AgentConfigs interface {
	// AgentConfig returns the one of a namespace, nil if there is none.
	AgentConfig(ctx context.Context, namespace string) (*v1beta1.ALBTargetControlConfig, error)
}

// isWatched reports whether objects of the namespace are served.
func (c Config) isWatched(namespace string) bool {
	return c.Namespace == "" || c.Namespace == namespace
}

// Endpoint is a path with its handler.
type Endpoint struct {
	Path    string
	Handler http.Handler
}

// Endpoints returns all paths, in a fixed order.
func Endpoints(c Config) []Endpoint {
	table := []struct {
		path    string
		mutates bool
		rule    rule
		// as is the name in metrics, if it is not the path.
		as string
	}{
		{path: PathPodGate, mutates: true, rule: c.injectGates},
		{path: PathPodServerID, mutates: true, rule: c.injectServerIDs},
		{path: PathPodAgentByNS, mutates: true, rule: c.injectAgent},
		{path: PathPodAgentByPod, mutates: true, rule: c.injectAgent, as: PathPodAgentByNS},
		{path: PathService, mutates: true, rule: c.completeService},
		{path: PathBindingDefault, mutates: true, rule: c.completeBinding},
		{path: PathBinding, rule: c.validateBinding},
		{path: PathParams, rule: c.validateParams},
		{path: PathIngress, rule: c.validateIngress},
		{path: PathAccelerator, rule: c.validateAccelerator},
	}
	var out []Endpoint
	for _, e := range table {
		counted := e.path
		if e.as != "" {
			counted = e.as
		}
		out = append(out, Endpoint{e.path, handler{
			rule: e.rule, log: c.Log.WithValues("path", e.path), refusals: c.Metrics.refusals(counted, e.mutates), panics: c.Panics,
		}})
	}
	return out
}
