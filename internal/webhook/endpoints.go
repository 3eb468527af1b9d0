package webhook

import (
	"cmp"
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

// The paths of the webhooks. The paths are part of the compatibility contract and must not change.
const (
	PathPodGate            = "/mutate-v1-pod"
	PathPodServerID        = "/mutate-v1-pod-server-id"
	PathPodAgentByNS       = "/mutate-alb-target-control-namespace-v1-pod"
	PathPodAgentByPod      = "/mutate-alb-target-control-object-v1-pod"
	PathService            = "/mutate-v1-service"
	PathBindingDefault     = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	PathBinding            = "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	PathIngressClassParams = "/validate-elbv2-k8s-aws-v1beta1-ingressclassparams"
	PathIngress            = "/validate-networking-v1-ingress"
	PathAccelerator        = "/validate-aga-k8s-aws-v1beta1-globalaccelerator"
)

// IngressTranslator translates Ingresses into the desired state of their load balancers. In the controller it is an
// *ingress.Frontend.
type IngressTranslator interface {
	Stacks(v *cluster.View, obj cluster.Object) []model.StackID
	Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List)
	// MayServe reports whether the controller serves the Ingress, or may serve it because its class cannot be determined.
	MayServe(v *cluster.View, ing *networkingv1.Ingress) bool
}

// Config is the configuration of the webhooks. The paths of disabled features are also served, because webhook
// configurations may contain these paths. Disabled features change no objects.
type Config struct {
	// Source contains all objects except Secrets.
	Source cluster.Source
	// Namespace is the only namespace in Source, "" for all namespaces. Requests for other namespaces are allowed without a
	// check.
	Namespace string
	// Ingress translates Ingresses.
	Ingress IngressTranslator
	// DenyClassAnnotation and DenyGroupName deny new objects with the annotation for the class or for the IngressGroup, and
	// updates that add the annotation.
	DenyClassAnnotation, DenyGroupName bool

	// ReadinessGates enables the injection of readiness gates.
	ReadinessGates bool
	// ServerIDs generates QUIC server IDs; nil disables their injection.
	ServerIDs *ServerIDGenerator
	// ServerIDVariable is the environment variable for the server ID.
	ServerIDVariable string
	// ControllerNamespace is the namespace of the controller, empty outside a cluster.
	ControllerNamespace string
	// AgentConfigs reads the configurations of the target control agent; nil disables the injection of the agent.
	AgentConfigs AgentConfigs
	// LoadBalancerClass is set on new Services of type LoadBalancer without a class. If it is "", no Service is changed.
	LoadBalancerClass string

	Accelerator AcceleratorOptions

	Log     logr.Logger
	Metrics *Metrics
	// Panics counts panics; nil does not count them.
	Panics prometheus.Counter
}

// AgentConfigs reads configurations of the target control agent.
type AgentConfigs interface {
	// AgentConfig returns the configuration of a namespace, nil if the namespace has no configuration.
	AgentConfig(ctx context.Context, namespace string) (*v1beta1.ALBTargetControlConfig, error)
}

// isWatched reports whether the controller watches a namespace.
func (c Config) isWatched(namespace string) bool {
	return c.Namespace == "" || c.Namespace == namespace
}

// limitToWatchedNamespaces returns an reviewFunc that calls answer for namespaces that the controller watches, and allows
// all requests for other namespaces.
func (c Config) limitToWatchedNamespaces(answer reviewFunc) reviewFunc {
	return func(ctx context.Context, r Request) (Response, error) {
		if !c.isWatched(r.Namespace) {
			return Response{}, nil
		}
		return answer(ctx, r)
	}
}

// Endpoint is a path with its handler.
type Endpoint struct {
	Path    string
	Handler http.Handler
}

// Endpoints returns the endpoints of all webhooks, in a fixed order.
func Endpoints(c Config) []Endpoint {
	table := []struct {
		path     string
		mutating bool
		rule     reviewFunc
		// metricPath is the path in metrics, if it differs from path.
		metricPath string
		// inAllNamespaces calls the rule also for requests in namespaces that are not watched. It is set for
		// IngressClassParams, which have no namespace, and for mutateService, which restores a removed class in all
		// namespaces.
		inAllNamespaces bool
	}{
		{path: PathPodGate, mutating: true, rule: c.injectReadinessGates},
		{path: PathPodServerID, mutating: true, rule: c.injectServerIDs},
		{path: PathPodAgentByNS, mutating: true, rule: c.injectAgent},
		{path: PathPodAgentByPod, mutating: true, rule: c.injectAgent, metricPath: PathPodAgentByNS},
		{path: PathService, mutating: true, rule: c.mutateService, inAllNamespaces: true},
		{path: PathBindingDefault, mutating: true, rule: c.mutateBinding},
		{path: PathBinding, rule: c.validateBinding},
		{path: PathIngressClassParams, rule: c.validateParams, inAllNamespaces: true},
		{path: PathIngress, rule: c.validateIngress},
		{path: PathAccelerator, rule: c.validateAccelerator},
	}
	var out []Endpoint
	for _, e := range table {
		answer := e.rule
		if !e.inAllNamespaces {
			answer = c.limitToWatchedNamespaces(e.rule)
		}
		out = append(out, Endpoint{e.path, handler{
			answer: answer, log: c.Log.WithValues("path", e.path), refusals: c.Metrics.deniedRequests(cmp.Or(e.metricPath, e.path), e.mutating), panics: c.Panics,
		}})
	}
	return out
}
