package rights

import "slices"

// Role is a Role or ClusterRole that is bound to the service account of the controller.
type Role struct {
	// File is the file in config/rbac with the role. The order in a file is that of the table.
	File string
	Name string
	// Namespaced reports whether this is a Role in the namespace of the controller, not a ClusterRole.
	Namespaced bool
	// Feature is the feature that needs the role, empty for the roles that every installation
	// needs. Why is the comment before the role.
	Feature, Why string
	Rules        []Rule
}

// Rule has verbs on resources of one API group.
type Rule struct {
	Group     string
	Resources []string
	// Names are the objects of the rule, nil for all.
	Names []string
	Verbs []string
	// Why is the purpose of the verbs, as the end of the sentence "It is needed to …".
	Why string
}

// Namespace and ServiceAccount are the namespace and the service account of the controller in config/rbac.
const (
	Namespace      = "kube-system"
	ServiceAccount = "fulcrum"
)

// definitions is the resource name of CustomResourceDefinitions.
const definitions = "customresourcedefinitions"

// Test returns the name of the test that fails without a verb of a rule of a role.
func (r Role) Test(rule Rule, resource, verb string) string {
	switch {
	case verb == "list" || verb == "watch":
		return "internal/kube TestWithoutListOrWatch/" + resource + "/" + verb
	case resource == "leases":
		return "internal/kube TestWithoutVerbOfTheLease/leases/" + verb
	case resource == definitions && r.Name == "fulcrum-accelerators":
		return "internal/kube TestDefinitionThatIsBeingDeleted"
	case rule.Group == "apiextensions.k8s.io":
		return "internal/kube TestWithoutVerbOfTheVersions/" + resource + "/" + verb
	case resource == "albtargetcontrolconfigs":
		return "internal/controller TestWithoutVerbOfTheAgent/" + resource + "/" + verb
	case r.File == "role.yaml":
		return "internal/kube TestWithoutVerbOfTheCheckpoints/" + resource + "/" + verb
	case r.File == "webhook.yaml":
		return "internal/webhook/serving TestWithoutVerb/" + r.Name + "/" + resource + "/" + verb
	}
	return "internal/test/harness TestWithoutVerb/" + r.Name + "/" + resource + "/" + verb
}

// Kubernetes is the table of permissions in Kubernetes. Those of the ClusterRole fulcrum and of the lease are
// a subset of the permissions that other controllers of AWS load balancers have, so that their role is enough
// for a take-over.
var Kubernetes = []Role{
	{
		File: "clusterrole.yaml", Name: "fulcrum",
		Why: "What the controller may do in the whole cluster. It is a part of what earlier controllers of this\n" +
			"kind were granted, so an existing installation's role is enough too.\n" +
			"Secrets are not in it: OIDC client secrets are granted one by one, by a Role in their namespace\n" +
			"with get, list and watch on the name.",
		Rules: []Rule{
			{"", []string{"namespaces", "nodes"}, nil, []string{"list", "watch"}, "choose namespaces by label, and nodes as targets"},
			{"", []string{"services"}, nil, []string{"get", "list", "patch", "watch"}, "read Services and set their finalizers and annotations"},
			{"", []string{"services/status"}, nil, []string{"patch"}, "show host names and conditions of load balancers"},
			{"", []string{"pods"}, nil, []string{"get", "list", "watch"}, "find targets, and read a pod again if another client has changed its conditions"},
			{"", []string{"pods/status"}, nil, []string{"patch"}, "set readiness gates"},
			{"", []string{"events"}, nil, []string{"create", "patch"}, "report findings"},
			{"", []string{"endpoints"}, nil, []string{"list", "watch"}, "find targets with --enable-endpoint-slices=false"},
			{"discovery.k8s.io", []string{"endpointslices"}, nil, []string{"list", "watch"}, "find targets"},
			{"networking.k8s.io", []string{"ingressclasses"}, nil, []string{"list", "watch"}, "find out which Ingresses to serve"},
			{"networking.k8s.io", []string{"ingresses"}, nil, []string{"get", "list", "patch", "watch"}, "read Ingresses, and set their finalizers and plans"},
			{"networking.k8s.io", []string{"ingresses/status"}, nil, []string{"patch"}, "show host names of load balancers"},
			{"elbv2.k8s.aws", []string{"ingressclassparams"}, nil, []string{"list", "watch"}, "read the settings of classes"},
			{"elbv2.k8s.aws", []string{"targetgroupbindings"}, nil, []string{"create", "delete", "get", "list", "patch", "watch"}, "bind target groups to Services"},
			{"elbv2.k8s.aws", []string{"targetgroupbindings/status"}, nil, []string{"patch"}, "show the observed generation and the conditions of a binding"},
			{"gateway.networking.k8s.io", []string{"gatewayclasses", "gateways"}, nil, []string{"get", "list", "patch", "watch"}, "read Gateways and their classes, and set their finalizers"},
			{"gateway.networking.k8s.io", []string{"referencegrants"}, nil, []string{"list", "watch"}, "find out which references between namespaces are permitted"},
			{"gateway.networking.k8s.io", []string{"grpcroutes", "httproutes", "listenersets", "tcproutes", "tlsroutes", "udproutes"}, nil, []string{"get", "list", "watch"},
				"read routes, and read a route again if another client has changed its status"},
			{"gateway.networking.k8s.io", []string{"gatewayclasses/status", "gateways/status", "grpcroutes/status", "httproutes/status", "listenersets/status",
				"tcproutes/status", "tlsroutes/status", "udproutes/status"}, nil, []string{"patch"}, "show addresses and conditions"},
			{"gateway.k8s.aws", []string{"listenerruleconfigurations", "loadbalancerconfigurations", "targetgroupconfigurations"}, nil, []string{"get", "list", "patch", "watch"},
				"read the configurations of Gateways, and set their finalizers"},
			{"gateway.k8s.aws", []string{"listenerruleconfigurations/status", "loadbalancerconfigurations/status", "targetgroupconfigurations/status"}, nil, []string{"patch"},
				"show conditions of configurations"},
		},
	},
	{
		File: "role.yaml", Name: "fulcrum-leader-election", Namespaced: true,
		Why: "Leader election, in the namespace of the controller. The name is that of the Lease that earlier\n" +
			"controllers of this kind use, so that two of them never write at the same time. The Secrets hold what\n" +
			"was carried out, so that a start need not compare everything with AWS at once, notices client secrets\n" +
			"that changed meanwhile, and removes what Ingresses left meanwhile; without them that is lost.",
		Rules: []Rule{
			{"coordination.k8s.io", []string{"leases"}, nil, []string{"create"}, "make the lease"},
			{"coordination.k8s.io", []string{"leases"}, []string{"aws-load-balancer-controller-leader"}, []string{"get", "update"}, "hold the lease, so that only one process changes AWS resources at a time"},
			{"", []string{"secrets"}, nil, []string{"create"}, "create the Secrets of the next rule"},
			{"", []string{"secrets"}, []string{"fulcrum-checkpoints", "fulcrum-memberships"}, []string{"get", "update"}, "store checkpoints across restarts"},
		},
	},
	{
		File: "shared-targets.yaml", Name: "fulcrum-shared-targets", Feature: "spec.multiClusterTargetGroup of a TargetGroupBinding",
		Why: "Records of the targets in target groups that several clusters fill. Each is in the namespace of its\n" +
			"TargetGroupBinding. Leave this file out where no binding has multiClusterTargetGroup.",
		Rules: []Rule{
			{"", []string{"configmaps"}, nil, []string{"create", "delete", "get", "update"}, "record the targets that this cluster has registered"},
		},
	},
	{
		File: "gateway-versions.yaml", Name: "fulcrum-gateway-versions", Feature: "condition SupportedVersion of GatewayClasses",
		Why: "Which version of the Gateway API is installed is noted on its CRDs. Without this file Gateways are served as\n" +
			"well, and the condition is Unknown.",
		Rules: []Rule{
			{"apiextensions.k8s.io", []string{definitions}, []string{
				"gatewayclasses.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "grpcroutes.gateway.networking.k8s.io",
				"httproutes.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io", "referencegrants.gateway.networking.k8s.io",
				"tcproutes.gateway.networking.k8s.io", "tlsroutes.gateway.networking.k8s.io", "udproutes.gateway.networking.k8s.io",
			}, []string{"get"}, "compare the installed version of the Gateway API with the supported versions"},
		},
	},
	{
		File: "accelerators.yaml", Name: "fulcrum-accelerators", Feature: "GlobalAccelerators",
		Why: "What GlobalAccelerators need besides: what the controller reads of Services, Ingresses, Gateways and\n" +
			"ReferenceGrants is in the first role. Leave this file out where the feature gate GlobalAcceleratorController is off.",
		Rules: []Rule{
			{"aga.k8s.aws", []string{"globalaccelerators"}, nil, []string{"get", "list", "patch", "watch"}, "read GlobalAccelerators, and set their finalizers"},
			{"aga.k8s.aws", []string{"globalaccelerators/status"}, nil, []string{"patch"}, "show addresses, names and conditions of accelerators"},
			{"apiextensions.k8s.io", []string{definitions}, []string{"globalaccelerators.aga.k8s.aws"}, []string{"get"}, "keep accelerators when the definition of GlobalAccelerators is deleted"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-webhook-certificate", Namespaced: true, Feature: "webhooks with a certificate that the controller creates",
		Why: "What admission needs besides. Without the rights of the first two roles the controller works as well,\n" +
			"and the certificate and the CA bundle have to come from elsewhere.",
		Rules: []Rule{
			{"", []string{"secrets"}, nil, []string{"create"}, "create the Secret of the certificate"},
			{"", []string{"secrets"}, []string{"aws-load-balancer-tls"}, []string{"get", "update"}, "share the certificate between replicas, and renew it"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-webhook-certificate", Feature: "webhooks with a certificate that the controller creates",
		Rules: []Rule{
			{"admissionregistration.k8s.io", []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, []string{"aws-load-balancer-webhook"},
				[]string{"get", "patch"}, "let the API server trust the certificate"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-server-ids", Namespaced: true, Feature: "QUIC server ids",
		Why: "Worker numbers of QUIC server ids.",
		Rules: []Rule{
			{"", []string{"configmaps"}, nil, []string{"create"}, "create the ConfigMap of the next rule"},
			{"", []string{"configmaps"}, []string{"quic-server-id-worker-tracker"}, []string{"get", "update"}, "claim a worker number"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-target-control", Feature: "target control agents in pods",
		Why:   "Configuration of the target control agent.",
		Rules: []Rule{{"elbv2.k8s.aws", []string{"albtargetcontrolconfigs"}, nil, []string{"get"}, "read the configuration of the agent that is injected into a pod"}},
	},
}

// RoleFiles returns the names of the files in config/rbac with roles, in the order of the table.
func RoleFiles() []string {
	var out []string
	for _, r := range Kubernetes {
		if !slices.Contains(out, r.File) {
			out = append(out, r.File)
		}
	}
	return out
}

// WithoutVerb returns the table Kubernetes without one verb on one resource in one role.
func WithoutVerb(role, resource, verb string) []Role {
	out := slices.Clone(Kubernetes)
	for i, r := range out {
		if r.Name != role {
			continue
		}
		var rules []Rule
		for _, rule := range r.Rules {
			if !slices.Contains(rule.Resources, resource) || !slices.Contains(rule.Verbs, verb) {
				rules = append(rules, rule)
				continue
			}
			others, rest := rule, rule
			others.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(s string) bool { return s == resource })
			rest.Resources, rest.Verbs = []string{resource}, slices.DeleteFunc(slices.Clone(rule.Verbs), func(s string) bool { return s == verb })
			rules = append(rules, others, rest)
		}
		out[i].Rules = rules
	}
	return out
}

// Allows reports whether roles allow a verb on an object. The namespace of a cluster-scoped object is empty.
func Allows(roles []Role, group, resource, verb, namespace, name string) bool {
	return slices.ContainsFunc(roles, func(r Role) bool {
		return (!r.Namespaced || namespace == Namespace) && slices.ContainsFunc(r.Rules, func(rule Rule) bool {
			return rule.Group == group && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb) &&
				(rule.Names == nil || slices.Contains(rule.Names, name))
		})
	})
}
