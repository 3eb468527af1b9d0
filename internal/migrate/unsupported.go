package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// kept is where the annotations of an Ingress or a Service go that are translated, by their keys in the reference.
// What has no entry, and none in lost, is an oversight, which a test finds.
var kept = map[string]string{
	"group.name": "Gateway", "group.order": "order of the rules",
	"load-balancer-name": config + "loadBalancerName", "scheme": config + "scheme", "ip-address-type": config + "ipAddressType",
	"subnets": config + "loadBalancerSubnets", "security-groups": config + "securityGroups",
	"manage-backend-security-group-rules": config + "manageBackendSecurityGroupRules",
	"customer-owned-ipv4-pool":            config + "customerOwnedIpv4Pool", "ipam-ipv4-pool-id": config + "ipv4IPAMPoolId",
	"load-balancer-attributes": config + "loadBalancerAttributes", "minimum-load-balancer-capacity": config + "minimumLoadBalancerCapacity",
	"tags": "tags of all configurations", "listen-ports": "listeners of the Gateway", "ssl-redirect": "HTTPRoute with a redirect",
	"certificate-arn": listenerConfig + "certificates", "ssl-policy": listenerConfig + "sslPolicy",
	"mutual-authentication": listenerConfig + "mutualAuthentication", "listener-attributes.<protocol-port>": listenerConfig + "listenerAttributes",
	"inbound-cidrs": config + "sourceRanges", "security-group-prefix-lists": config + "securityGroupPrefixes",
	"actions.<name>": "rules of HTTPRoutes", "conditions.<name>": "matches of HTTPRoutes", "transforms.<name>": "URLRewrite filters",
	"use-regex-path-match": "paths of type RegularExpression", "jwt-validation": ruleConfig, "auth-type": ruleConfig, "auth-idp-cognito": ruleConfig,
	"auth-idp-oidc": ruleConfig, "auth-on-unauthenticated-request": ruleConfig, "auth-scope": ruleConfig, "auth-session-cookie": ruleConfig,
	"auth-session-timeout": ruleConfig,
	"target-type":          targets + "targetType", "target-node-labels": targets + "nodeSelector", "backend-protocol": targets + "protocol",
	"backend-protocol-version": targets + "protocolVersion", "target-group-attributes": targets + "targetGroupAttributes",
	"multi-cluster-target-group": targets + "enableMultiCluster", "target-control-port.<service.port>": targets + "targetControlPort",
	"healthcheck-port": targets + "healthCheckPort", "healthcheck-protocol": targets + "healthCheckProtocol", "healthcheck-path": targets + "healthCheckPath",
	"healthcheck-interval-seconds": targets + "healthCheckInterval", "healthcheck-timeout-seconds": targets + "healthCheckTimeout",
	"healthy-threshold-count": targets + "healthyThresholdCount", "unhealthy-threshold-count": targets + "unhealthyThresholdCount",
	"success-codes": targets + "matcher", "wafv2-acl-arn": config + "wafV2", "wafv2-acl-name": config + "wafV2",
	"shield-advanced-protection": config + "shieldConfiguration", "waf-acl-id": "see the note", "web-acl-id": "see the note",
	"dry-run-plan":        "written by the controller, not read",
	"enable-frontend-nlb": "Gateway of class aws-nlb", "frontend-nlb-listener-port-mapping": "TCPRoutes",
	"frontend-nlb-scheme": network + "scheme", "frontend-nlb-subnets": network + "loadBalancerSubnets", "frontend-nlb-security-groups": network + "securityGroups",
	"frontend-nlb-eip-allocations": network + "loadBalancerSubnets[].eipAllocation", "frontend-nlb-attributes": network + "loadBalancerAttributes",
	"frontend-nlb-tags":             "tags of the configurations of the Gateway of class aws-nlb",
	"frontend-nlb-healthcheck-port": ofALB + "healthCheckPort", "frontend-nlb-healthcheck-protocol": ofALB + "healthCheckProtocol",
	"frontend-nlb-healthcheck-path": ofALB + "healthCheckPath", "frontend-nlb-healthcheck-success-codes": ofALB + "matcher",
	"frontend-nlb-healthcheck-interval-seconds": ofALB + "healthCheckInterval", "frontend-nlb-healthcheck-timeout-seconds": ofALB + "healthCheckTimeout",
	"frontend-nlb-healthcheck-healthy-threshold-count": ofALB + "healthyThresholdCount", "frontend-nlb-healthcheck-unhealthy-threshold-count": ofALB + "unhealthyThresholdCount",
}

const (
	config         = "LoadBalancerConfiguration spec."
	listenerConfig = "LoadBalancerConfiguration spec.listenerConfigurations[]."
	targets        = "TargetGroupConfiguration "
	ruleConfig     = "ListenerRuleConfiguration"
	network        = "LoadBalancerConfiguration of class aws-nlb spec."
	ofALB          = "TargetGroupConfiguration of the Gateway with the ALB "
)

// Translated is an annotation with where it went; nowhere, if To is empty, which a note says.
type Translated struct {
	Object finding.Ref
	Key    string
	To     string
}

// annotations lists the annotations of the members, and of the Services behind them.
func (g *grouping) annotations() {
	of := map[finding.Ref]map[string]string{}
	for _, m := range g.Members {
		of[m] = g.of[m].Annotations
	}
	for svc, uses := range g.uses {
		obj, ok := cluster.Get[*corev1.Service](g.view, cluster.KindService, svc.Namespace, svc.Name)
		if ok && slices.ContainsFunc(uses, func(u use) bool { return u.by == g }) {
			of[svc] = obj.Annotations
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(of), finding.Ref.Compare) {
		for _, key := range slices.Sorted(maps.Keys(of[ref])) {
			row, known := settings.IngressAnnotations.Row(key)
			if known && (row.Service || ref.Kind == "Ingress") {
				to := kept[row.Key]
				if aboutFrontend(row.Key) {
					to = g.frontendCounterpart(row.Key)
				}
				g.Annotations = append(g.Annotations, Translated{ref, key, to})
			}
		}
	}
}

// lost is why the annotations are not translated that begin with a key.
var lost = []struct{ key, why, fix string }{
	{"create-acm-cert", "Gateways request no certificates", "name the ARN of the certificate that was requested, and keep the certificate when the Ingress goes"},
	{"acm-pca-arn", "Gateways request no certificates", "name the ARN of the certificate that was requested"},
}

// bookkeeping are what annotations begin with that tools keep for themselves, or that mean nothing to others.
var bookkeeping = []string{"kubectl.kubernetes.io/", "meta.helm.sh/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "deployment.kubernetes.io/", cluster.ClassAnnotation}

// ofOthers returns annotations for other programs, such as external-dns and cert-manager. At most ten are named.
func ofOthers(annotations map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, settings.Prefix) || slices.ContainsFunc(bookkeeping, func(b string) bool { return strings.HasPrefix(key, b) }) {
			continue
		}
		out = append(out, key)
	}
	const most = 10
	if more := len(out) - most; more > 0 {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return out
}

// unsupported notes what members ask for that has no counterpart.
func (g *grouping) unsupported() {
	for _, m := range g.Members {
		ing := g.of[m]
		requests := slices.ContainsFunc(g.From.Certificates, func(c model.ManagedCertificate) bool { return c.Import == nil && c.Member == m })
		for key, value := range ing.Annotations {
			short, ours := strings.CutPrefix(key, settings.Prefix)
			i := slices.IndexFunc(lost, func(l struct{ key, why, fix string }) bool { return strings.HasPrefix(short, l.key) })
			certificate := short == "create-acm-cert" || short == "acm-pca-arn"
			if ours && i >= 0 && value != "false" && (requests || !certificate) {
				g.note(Lost, m, key, lost[i].why, lost[i].fix)
			}
		}
		if others := ofOthers(ing.Annotations); len(others) > 0 {
			g.note(Differs, m, "metadata.annotations", "annotations of other programs are not carried over: "+strings.Join(others, ", "),
				"put those that still matter on the Gateway or on the routes, as their programs say")
		}
		for i, t := range ing.Spec.TLS {
			if t.SecretName != "" && g.opt.ImportSecrets && !g.opt.ImportForGateways {
				g.note(Lost, m, fmt.Sprintf("spec.tls[%d].secretName", i), "the controller imports certificates of TLS Secrets for Ingresses, and not for Gateways", "add gateway to --import-tls-secrets")
			}
		}
	}
}
