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

// The paths of the webhooks. They are part of the compatibility contract.
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
	// MayServe reports whether the controller serves the Ingress, or may serve it because its class cannot be determined.
	MayServe(v *cluster.View, ing *networkingv1.Ingress) bool
}

// Config is the configuration of the rules. A feature that is off does not change objects, but its path is served, so that
// no request fails.
type Config struct {
	// Source has all objects except Secrets.
	Source cluster.Source
	// Namespace is the only namespace of Source, "" for all. Requests for other namespaces are allowed without a check.
	Namespace string
	// Ingress translates Ingresses.
	Ingress Translator
	// IngressClass is the value of the class annotation that the controller serves.
	IngressClass string
	// DenyClassAnnotation and DenyGroupName deny new uses of the two annotations.
	DenyClassAnnotation, DenyGroupName bool

	// ReadinessGates is set if readiness gates are injected.
	ReadinessGates bool
	// ServerIDs makes QUIC server IDs; nil switches their injection off.
	ServerIDs ServerIDs
	// ServerIDVariable is the environment variable for the server ID.
	ServerIDVariable string
	// OwnNamespace is the namespace of the controller, empty outside a cluster.
	OwnNamespace string
	// AgentConfigs are the configurations of the target control agent; nil switches the injection off.
	AgentConfigs AgentConfigs
	// LoadBalancerClass is set on Services of type LoadBalancer without a class; "" changes no Service.
	LoadBalancerClass string

	Accelerator AcceleratorOptions

	Log     logr.Logger
	Metrics *Metrics
	// Panics counts panics; nil to ignore.
	Panics prometheus.Counter
}

// AgentConfigs reads configurations of the target control agent.
type AgentConfigs interface {
	// AgentConfig returns the configuration of a namespace, nil if there is none.
	AgentConfig(ctx context.Context, namespace string) (*v1beta1.ALBTargetControlConfig, error)
}

// isWatched reports whether the controller watches a namespace.
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
		// metricPath is the path in metrics, if it differs.
		metricPath string
	}{
		{path: PathPodGate, mutates: true, rule: c.injectGates},
		{path: PathPodServerID, mutates: true, rule: c.injectServerIDs},
		{path: PathPodAgentByNS, mutates: true, rule: c.injectAgent},
		{path: PathPodAgentByPod, mutates: true, rule: c.injectAgent, metricPath: PathPodAgentByNS},
		{path: PathService, mutates: true, rule: c.completeService},
		{path: PathBindingDefault, mutates: true, rule: c.completeBinding},
		{path: PathBinding, rule: c.validateBinding},
		{path: PathParams, rule: c.validateParams},
		{path: PathIngress, rule: c.validateIngress},
		{path: PathAccelerator, rule: c.validateAccelerator},
	}
	var out []Endpoint
	for _, e := range table {
		metricPath := e.path
		if e.metricPath != "" {
			metricPath = e.metricPath
		}
		out = append(out, Endpoint{e.path, handler{
			rule: e.rule, log: c.Log.WithValues("path", e.path), refusals: c.Metrics.refusals(metricPath, e.mutates), panics: c.Panics,
		}})
	}
	return out
}
