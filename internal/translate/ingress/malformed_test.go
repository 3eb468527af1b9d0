package ingress_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// malformedAnnotations has, by annotation without prefix, a value that is not valid, and a part of the message that
// describes the valid form. The annotations have an example name in place of "<name>".
var malformedAnnotations = map[string]struct{ value, form string }{
	"group.name":                          {"No Name!", "lower"},
	"group.order":                         {"first", "from -1000 to 1000"},
	"load-balancer-name":                  {strings.Repeat("x", 33), "32 characters"},
	"scheme":                              {"public", "internal, internet-facing"},
	"ip-address-type":                     {"ipv5", "ipv4, dualstack"},
	"manage-backend-security-group-rules": {"sure", "true or false"},
	"customer-owned-ipv4-pool":            {"", "must not be empty"},
	"load-balancer-attributes":            {"x", "key=value"},
	"minimum-load-balancer-capacity":      {"CapacityUnits=x", "whole number"},
	"tags":                                {"x", "key=value"},
	"listen-ports":                        {"x", `[{"HTTP":80}`},
	"ssl-redirect":                        {"x", "whole number"},
	"mutual-authentication":               {"x", `[{"port":443`},
	"inbound-cidrs":                       {"x", "such as 10.0.0.0/8"},
	"listener-attributes.HTTPS-443":       {"x", "key=value"},
	"create-acm-cert":                     {"x", "true or false"},
	"actions.act":                         {"x", `{"type":`},
	"conditions.act":                      {"x", `[{"field":`},
	"transforms.act":                      {"x", `[{"type":`},
	"use-regex-path-match":                {"x", "true or false"},
	"jwt-validation":                      {"x", `{"jwksEndpoint":`},
	"auth-type":                           {"x", "none, oidc, cognito"},
	"auth-idp-cognito":                    {"x", `{"userPoolARN":`},
	"auth-idp-oidc":                       {"x", `{"issuer":`},
	"auth-session-timeout":                {"x", "whole number"},
	"target-type":                         {"x", "instance, ip"},
	"target-node-labels":                  {"x", "key=value"},
	"backend-protocol":                    {"x", "HTTP, HTTPS"},
	"backend-protocol-version":            {"x", "HTTP1, HTTP2, GRPC"},
	"target-group-attributes":             {"x", "key=value"},
	"multi-cluster-target-group":          {"x", "true or false"},
	"target-control-port.web.80":          {"x", "whole number"},
	"healthcheck-protocol":                {"x", "HTTP, HTTPS"},
	"healthcheck-interval-seconds":        {"x", "whole number"},
	"healthcheck-timeout-seconds":         {"x", "whole number"},
	"healthy-threshold-count":             {"x", "whole number"},
	"unhealthy-threshold-count":           {"x", "whole number"},
	"shield-advanced-protection":          {"x", "true or false"},
	"enable-frontend-nlb":                 {"x", "true or false"},
	"frontend-nlb-scheme":                 {"x", "internal, internet-facing"},
	"frontend-nlb-listener-port-mapping":  {"x", "key=value"},
	"frontend-nlb-healthcheck-port":       {"x", "from 1 to 65535"},
	"frontend-nlb-healthcheck-protocol":   {"x", "HTTP, HTTPS"},

	"frontend-nlb-healthcheck-interval-seconds":          {"x", "whole number"},
	"frontend-nlb-healthcheck-timeout-seconds":           {"x", "whole number"},
	"frontend-nlb-healthcheck-healthy-threshold-count":   {"x", "whole number"},
	"frontend-nlb-healthcheck-unhealthy-threshold-count": {"x", "whole number"},
	"frontend-nlb-attributes":                            {"x", "key=value"},
	"frontend-nlb-tags":                                  {"x", "key=value"},
}

// freeTextAnnotations are annotations that accept any text. Only AWS can find an error in the value, or the value names a
// resource, and a resource that does not exist is reported later.
var freeTextAnnotations = []string{
	"subnets", "security-groups", "ipam-ipv4-pool-id", "certificate-arn", "ssl-policy", "security-group-prefix-lists", "acm-pca-arn",
	"auth-on-unauthenticated-request", "auth-scope", "auth-session-cookie", "healthcheck-port", "healthcheck-path", "success-codes",
	"wafv2-acl-arn", "wafv2-acl-name", "waf-acl-id", "web-acl-id", "frontend-nlb-subnets", "frontend-nlb-security-groups",
	"frontend-nlb-eip-allocations", "frontend-nlb-healthcheck-path", "frontend-nlb-healthcheck-success-codes", "dry-run-plan",
}

func TestMalformedAnnotationsAreReportedOnceWithTheirForm(t *testing.T) {
	keys := slices.Collect(maps.Keys(malformedAnnotations))
	for _, r := range settings.IngressAnnotations.Rows() {
		head, _, open := strings.Cut(r.Key, "<")
		i := slices.IndexFunc(keys, func(k string) bool { return k == r.Key || open && strings.HasPrefix(k, head) })
		if i < 0 {
			if !slices.Contains(freeTextAnnotations, r.Key) {
				t.Errorf("%s: neither any text nor a malformed value is known", r.Key)
			}
			continue
		}
		t.Run(r.Key, func(t *testing.T) {
			c, field := malformedAnnotations[keys[i]], settings.Prefix+keys[i]
			found := findingsOfAnnotation(t, keys[i], c.value)
			if len(found) != 1 {
				t.Fatalf("%d findings:\n%v", len(found), found)
			}
			f := found[0]
			if f.Field != field || f.Object.Name != "web" || !strings.Contains(f.Message, c.form) || f.Fix == "" {
				t.Errorf("want %s and %q in the message:\n%s", field, c.form, f)
			}
		})
	}
}

// findingsOfAnnotation returns the findings for an Ingress with the annotation, and with the other settings without which
// the annotation has no effect.
func findingsOfAnnotation(t *testing.T, key, value string) finding.List {
	t.Helper()
	annotations := map[string]string{
		"kubernetes.io/ingress.class":           "alb",
		settings.Prefix + "listen-ports":        `[{"HTTPS":443}]`,
		settings.Prefix + "certificate-arn":     "arn",
		settings.Prefix + "target-type":         "ip",
		settings.Prefix + "actions.act":         `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80}]}}`,
		settings.Prefix + "enable-frontend-nlb": "true",
	}
	if kind, ok := strings.CutPrefix(key, "auth-idp-"); ok {
		annotations[settings.Prefix+"auth-type"] = kind
	}
	if key == "auth-session-timeout" {
		annotations[settings.Prefix+"auth-type"] = "cognito"
		annotations[settings.Prefix+"auth-idp-cognito"] = `{"userPoolARN":"a","userPoolClientID":"b","userPoolDomain":"c"}`
	}
	if key == "target-node-labels" {
		annotations[settings.Prefix+"target-type"] = "instance"
	}
	annotations[settings.Prefix+key] = value
	kind := networkingv1.PathTypePrefix
	if key == "use-regex-path-match" {
		kind = networkingv1.PathTypeImplementationSpecific
	}
	src, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Put(
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080)}},
		}},
		&networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: annotations},
			Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.example", IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &kind, Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: "act", Port: networkingv1.ServiceBackendPort{Name: "use-annotation"}},
				}}}},
			}}}},
		},
	); err != nil {
		t.Fatal(err)
	}
	_, found := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"}), src, model.StackID{Kind: model.Ingress, Namespace: "ns", Name: "web"}, nil)
	return found
}
