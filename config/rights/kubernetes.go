package rights

import "slices"

// Role is a Role or ClusterRole that is bound to the service account of the controller.
type Role struct {
	// File is the name of the file in config/rbac with the role. The roles of a file are in the order of KubernetesRoles.
	File string
	Name string
	// Namespaced reports whether the role is a Role in the namespace of the controller, not a ClusterRole.
	Namespaced bool
	// Feature is the feature that needs the role, or empty if every installation needs the role. Reason is the comment above
	// the role in the file.
	Feature, Reason string
	Rules           []Rule
}

// Rule allows verbs on resources of one API group.
type Rule struct {
	Group     string
	Resources []string
	// Names are the names of the objects to which the rule applies, or nil for all objects.
	Names []string
	Verbs []string
	// Reason is the purpose of the verbs, as the end of the sentence "It is needed to …".
	Reason string
}

// Namespace and ServiceAccount are the namespace and the name of the controller's service account in config/rbac.
const (
	Namespace      = "kube-system"
	ServiceAccount = "fulcrum"
)

// crdResource is the resource name of CustomResourceDefinitions.
const crdResource = "customresourcedefinitions"

// KubernetesRoles is the table of Kubernetes permissions. aws-load-balancer-controller has all of them too, except those on
// Secrets, CustomResourceDefinitions and webhook configurations. Its roles therefore suffice for a migration.
var KubernetesRoles = []Role{
	{
		File: "clusterrole.yaml", Name: "fulcrum",
		Reason: "Permissions of the controller in the whole cluster. They are a subset of the permissions of earlier\n" +
			"controllers of this kind, so the role of an existing installation suffices too.\n" +
			"They do not include Secrets: for each OIDC client secret, create a Role in its namespace that grants\n" +
			"get, list and watch on the name of the Secret.",
		Rules: []Rule{
			{"", []string{"namespaces", "nodes"}, nil, []string{"list", "watch"}, "select namespaces by label, and register nodes as targets"},
			{"", []string{"services"}, nil, []string{"get", "list", "patch", "watch"}, "read Services and set their finalizers and annotations"},
			{"", []string{"services/status"}, nil, []string{"patch"}, "write host names and conditions of load balancers into the status"},
			{"", []string{"pods"}, nil, []string{"get", "list", "watch"}, "find targets, and read a pod again if another client has changed its conditions"},
			{"", []string{"pods/status"}, nil, []string{"patch"}, "set readiness gates"},
			{"", []string{"events"}, nil, []string{"create", "patch"}, "report findings"},
			{"", []string{"endpoints"}, nil, []string{"list", "watch"}, "find targets with --enable-endpoint-slices=false"},
			{"discovery.k8s.io", []string{"endpointslices"}, nil, []string{"list", "watch"}, "find targets"},
			{"networking.k8s.io", []string{"ingressclasses"}, nil, []string{"list", "watch"}, "determine which Ingresses the controller serves"},
			{"networking.k8s.io", []string{"ingresses"}, nil, []string{"get", "list", "patch", "watch"}, "read Ingresses, and set their finalizers and plans"},
			{"networking.k8s.io", []string{"ingresses/status"}, nil, []string{"patch"}, "write host names of load balancers into the status"},
			{"elbv2.k8s.aws", []string{"ingressclassparams"}, nil, []string{"list", "watch"}, "read the settings of classes"},
			{"elbv2.k8s.aws", []string{"targetgroupbindings"}, nil, []string{"create", "delete", "get", "list", "patch", "watch"}, "bind target groups to Services"},
			{"elbv2.k8s.aws", []string{"targetgroupbindings/status"}, nil, []string{"patch"}, "write the observed generation and the conditions into the status of a binding"},
			{"gateway.networking.k8s.io", []string{"gatewayclasses", "gateways"}, nil, []string{"get", "list", "patch", "watch"}, "read Gateways and their classes, and set their finalizers"},
			{"gateway.networking.k8s.io", []string{"referencegrants"}, nil, []string{"list", "watch"}, "determine which references between namespaces are permitted"},
			{"gateway.networking.k8s.io", []string{"grpcroutes", "httproutes", "listenersets", "tcproutes", "tlsroutes", "udproutes"}, nil, []string{"get", "list", "watch"},
				"read routes, and read a route again if another client has changed its status"},
			{"gateway.networking.k8s.io", []string{"gatewayclasses/status", "gateways/status", "grpcroutes/status", "httproutes/status", "listenersets/status",
				"tcproutes/status", "tlsroutes/status", "udproutes/status"}, nil, []string{"patch"}, "write addresses and conditions into the status"},
			{"gateway.k8s.aws", []string{"listenerruleconfigurations", "loadbalancerconfigurations", "targetgroupconfigurations"}, nil, []string{"get", "list", "patch", "watch"},
				"read the configurations of Gateways, and set their finalizers"},
			{"gateway.k8s.aws", []string{"listenerruleconfigurations/status", "loadbalancerconfigurations/status", "targetgroupconfigurations/status"}, nil, []string{"patch"},
				"write conditions into the status of configurations"},
		},
	},
	{
		File: "role.yaml", Name: "fulcrum-leader-election", Namespaced: true,
		Reason: "Leader election, in the namespace of the controller. Earlier controllers of this kind use a Lease with\n" +
			"the same name, so that two controllers never write at the same time. The Secrets store the state that was\n" +
			"last applied. With them, a controller that starts need not compare all resources with AWS at once, notices\n" +
			"client secrets that changed while it was down, and removes resources that Ingresses no longer use.",
		Rules: []Rule{
			{"coordination.k8s.io", []string{"leases"}, nil, []string{"create"}, "create the lease"},
			{"coordination.k8s.io", []string{"leases"}, []string{"aws-load-balancer-controller-leader"}, []string{"get", "update"}, "hold the lease, so that only one process changes AWS resources at a time"},
			{"", []string{"secrets"}, nil, []string{"create"}, "create the Secrets of the next rule"},
			{"", []string{"secrets"}, []string{"fulcrum-checkpoints", "fulcrum-memberships"}, []string{"get", "update"}, "store checkpoints across restarts"},
		},
	},
	{
		File: "shared-targets.yaml", Name: "fulcrum-shared-targets", Feature: "spec.multiClusterTargetGroup of a TargetGroupBinding",
		Reason: "Records of the targets that this cluster has registered in target groups that several clusters share. Each\n" +
			"record is in the namespace of its TargetGroupBinding. Not needed if no binding has multiClusterTargetGroup.",
		Rules: []Rule{
			{"", []string{"configmaps"}, nil, []string{"create", "delete", "get", "update"}, "record the targets that this cluster has registered"},
		},
	},
	{
		File: "gateway-versions.yaml", Name: "fulcrum-gateway-versions", Feature: "condition SupportedVersion of GatewayClasses",
		Reason: "The CRDs of the Gateway API have the installed version in an annotation. Without this file Gateways are\n" +
			"also served, but the condition is Unknown.",
		Rules: []Rule{
			{"apiextensions.k8s.io", []string{crdResource}, []string{
				"gatewayclasses.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "grpcroutes.gateway.networking.k8s.io",
				"httproutes.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io", "referencegrants.gateway.networking.k8s.io",
				"tcproutes.gateway.networking.k8s.io", "tlsroutes.gateway.networking.k8s.io", "udproutes.gateway.networking.k8s.io",
			}, []string{"get"}, "compare the installed version of the Gateway API with the supported versions"},
		},
	},
	{
		File: "accelerators.yaml", Name: "fulcrum-accelerators", Feature: "GlobalAccelerators",
		Reason: "Additional permissions for GlobalAccelerators. The ClusterRole fulcrum has the permissions to read Services,\n" +
			"Ingresses, Gateways and ReferenceGrants. Not needed if the feature gate GlobalAcceleratorController is off.",
		Rules: []Rule{
			{"aga.k8s.aws", []string{"globalaccelerators"}, nil, []string{"get", "list", "patch", "watch"}, "read GlobalAccelerators, and set their finalizers"},
			{"aga.k8s.aws", []string{"globalaccelerators/status"}, nil, []string{"patch"}, "write addresses, names and conditions of accelerators into the status"},
			{"apiextensions.k8s.io", []string{crdResource}, []string{"globalaccelerators.aga.k8s.aws"}, []string{"get"}, "keep accelerators when the definition of GlobalAccelerators is deleted"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-webhook-certificate", Namespaced: true, Feature: "webhooks with a certificate that the controller creates",
		Reason: "Additional permissions for the admission webhooks. The controller also works without the first two roles if\n" +
			"you provide the certificate and the CA bundle.",
		Rules: []Rule{
			{"", []string{"secrets"}, nil, []string{"create"}, "create the Secret of the certificate"},
			{"", []string{"secrets"}, []string{"aws-load-balancer-tls"}, []string{"get", "update"}, "share the certificate between replicas, and renew it"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-webhook-certificate", Feature: "webhooks with a certificate that the controller creates",
		Rules: []Rule{
			{"admissionregistration.k8s.io", []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, []string{"aws-load-balancer-webhook"},
				[]string{"get", "patch"}, "write the CA bundle into the webhook configurations, so that the API server trusts the certificate"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-server-ids", Namespaced: true, Feature: "QUIC server IDs",
		Reason: "Worker numbers of QUIC server IDs.",
		Rules: []Rule{
			{"", []string{"configmaps"}, nil, []string{"create"}, "create the ConfigMap of the next rule"},
			{"", []string{"configmaps"}, []string{"quic-server-id-worker-tracker"}, []string{"get", "update"}, "claim a worker number"},
		},
	},
	{
		File: "webhook.yaml", Name: "fulcrum-target-control", Feature: "target control agents in pods",
		Reason: "Configuration of the target control agent.",
		Rules:  []Rule{{"elbv2.k8s.aws", []string{"albtargetcontrolconfigs"}, nil, []string{"get"}, "read the configuration of the agent that is injected into a pod"}},
	},
}

// RoleFiles returns the names of the files in config/rbac with roles, in the order of the table.
func RoleFiles() []string {
	var out []string
	for _, r := range KubernetesRoles {
		if !slices.Contains(out, r.File) {
			out = append(out, r.File)
		}
	}
	return out
}

// RolesWithoutVerb returns a copy of KubernetesRoles in which the role with the given name lacks one verb on a resource.
func RolesWithoutVerb(role, resource, verb string) []Role {
	out := slices.Clone(KubernetesRoles)
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

// RolesAllow reports whether one of the roles allows a verb on an object. The namespace of a cluster-scoped object is empty.
func RolesAllow(roles []Role, group, resource, verb, namespace, name string) bool {
	return slices.ContainsFunc(roles, func(r Role) bool {
		return (!r.Namespaced || namespace == Namespace) && slices.ContainsFunc(r.Rules, func(rule Rule) bool {
			return rule.Group == group && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb) &&
				(rule.Names == nil || slices.Contains(rule.Names, name))
		})
	})
}
