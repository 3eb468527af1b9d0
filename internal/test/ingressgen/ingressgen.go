// Package ingressgen generates manifests of random IngressGroups with valid annotations. Only tests use it.
package ingressgen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Values for random Ingresses. All values are valid. A repeated value is chosen more often. Keys are annotation names
// without prefix.
var (
	hostChoices                 = []string{"", "", "a.example.com", "b.example.com", "*.example.com"}
	prefixPaths                 = []string{"/", "/a", "/a/b", "/b"}
	exactPaths                  = []string{"/", "/a", "/a/b", "/b/c"}
	implementationSpecificPaths = []string{"/*", "/a/*", "/a", "/*.png", "/a?", "/b/*"}
	memberAnnotations           = map[string][]string{
		"listen-ports":                {`[{"HTTP":80}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTPS":443}]`, `[{"HTTP":80},{"HTTP":8080}]`},
		"group.order":                 {"-1", "1", "5"},
		"actions.act":                 {`{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"410","messageBody":"gone"}}`, `{"type":"redirect","redirectConfig":{"host":"new.example.com","path":"/moved","statusCode":"HTTP_301"}}`, `{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_302"}}`, `{"type":"redirect","redirectConfig":{"protocol":"HTTPS","path":"/moved","query":"from=ingress","statusCode":"HTTP_301"}}`, `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":30},{"serviceName":"api","servicePort":80,"weight":70}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":60}}}`},
		"conditions.web":              {`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1","a,b"]}}]`, `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET","HEAD"]}}]`, `[{"field":"query-string","queryStringConfig":{"values":[{"key":"v","value":"1"},{"key":"w","value":"2"}]}}]`, `[{"field":"host-header","hostHeaderConfig":{"values":["c.example.com"]}}]`, `[{"field":"path-pattern","pathPatternConfig":{"values":["/x/*","/y"]}}]`},
		"conditions.api":              {`[{"field":"source-ip","sourceIpConfig":{"values":["192.0.2.0/25","2001:db8::/32"]}}]`},
		"transforms.api":              {`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^[^?]*","replace":"/all"}]}}]`, `[{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":".*","replace":"inside.example.com"}]}}]`},
		"auth-type":                   {"cognito", "oidc"},
		"jwt-validation":              {`{"jwksEndpoint":"https://id.example.com/jwks","issuer":"https://id.example.com"}`},
		"success-codes":               {"200-299"},
		"target-type":                 {"instance"},
		"healthcheck-path":            {"/up"},
		"target-group-attributes":     {"stickiness.enabled=true,stickiness.type=lb_cookie"},
		"backend-protocol":            {"HTTPS"},
		"multi-cluster-target-group":  {"true"},
		"tags":                        {"team=a"},
		"use-regex-path-match":        {"true"},
		"load-balancer-attributes":    {"idle_timeout.timeout_seconds=30"},
		"listener-attributes.HTTP-80": {"routing.http.response.server.enabled=false"},
		"healthy-threshold-count":     {"5"},
	}
	// ingressGroupSettings are values of load-balancer-wide annotations, which all members share.
	ingressGroupSettings = map[string][]string{
		"scheme": {"internal", "internet-facing"}, "ip-address-type": {"dualstack"}, "ssl-redirect": {"443"}, "inbound-cidrs": {"10.0.0.0/8, 192.0.2.0/24"},
		"security-group-prefix-lists": {"$PREFIXLIST"}, "security-groups": {"$GROUP"}, "manage-backend-security-group-rules": {"true", "false"},
		"subnets": {"$SUBNETS"}, "ssl-policy": {"ELBSecurityPolicy-TLS13-1-2-Res-2021-06"}, "shield-advanced-protection": {"true"},
		"wafv2-acl-arn": {"$WEBACL"}, "minimum-load-balancer-capacity": {"CapacityUnits=100"},
		"mutual-authentication": {`[{"port":443,"mode":"passthrough"}]`, `[{"port":443,"mode":"verify","trustStore":"$TRUSTSTORE"}]`},
	}
)

const ingressClassManifest = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// IngressGroup returns the YAML of a random IngressGroup "g". It has one to three Ingresses in the namespaces "shop" and
// "blog", and the Services "web" and "api" in each namespace. Some backends name a Service "gone", which does not exist.
// $CERT, $SUBNETS, $GROUP, $WEBACL, $TRUSTSTORE and $PREFIXLIST are placeholders for AWS resources.
func IngressGroup(r *rand.Rand) string {
	var out strings.Builder
	out.WriteString(ingressClassManifest)
	for i, ns := range []string{"shop", "blog"} {
		for j, svc := range []string{"web", "api"} {
			fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Service\nmetadata: {namespace: %s, name: %s}\nspec: {type: NodePort, ports: [{name: http, port: 80, targetPort: 8080, nodePort: %d}]}\n", ns, svc, 30001+2*i+j)
		}
	}
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(ingressGroupSettings)) {
		if r.IntN(5) == 0 {
			all[key] = pick(r, ingressGroupSettings[key])
		}
	}
	for i := range 1 + r.IntN(3) {
		out.WriteString("---\n" + ingressManifest(r, i, all))
	}
	return out.String()
}

func ingressManifest(r *rand.Rand, i int, all map[string]string) string {
	notes := map[string]string{"group.name": "g", "certificate-arn": "$CERT"}
	notes["auth-idp-cognito"] = `{"userPoolARN":"arn:aws:cognito-idp:us-west-2:123456789012:userpool/us-west-2_abcdefghi","userPoolClientID":"c","userPoolDomain":"d"}`
	notes["auth-idp-oidc"] = `{"issuer":"https://id.example.com","authorizationEndpoint":"https://id.example.com/a","tokenEndpoint":"https://id.example.com/t","userInfoEndpoint":"https://id.example.com/u","secretName":"login"}`
	for _, key := range slices.Sorted(maps.Keys(memberAnnotations)) {
		if r.IntN(7) == 0 {
			notes[key] = pick(r, memberAnnotations[key])
		}
	}
	if notes["auth-type"] != "" {
		delete(notes, "jwt-validation")
	}
	if notes["actions.act"] == "" {
		notes["actions.act"] = memberAnnotations["actions.act"][0]
	}
	for k, v := range all {
		notes[k] = v
	}
	if all["ssl-redirect"] != "" {
		notes["listen-ports"] = memberAnnotations["listen-ports"][1]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  namespace: %s\n  name: i%d\n  annotations:\n", []string{"shop", "blog"}[r.IntN(2)], i)
	for _, k := range slices.Sorted(maps.Keys(notes)) {
		fmt.Fprintf(&out, "    alb.ingress.kubernetes.io/%s: %q\n", k, notes[k])
	}
	out.WriteString("spec:\n  ingressClassName: alb\n")
	backend := func() string {
		if r.IntN(4) == 0 {
			return "{service: {name: act, port: {name: use-annotation}}}"
		}
		return fmt.Sprintf("{service: {name: %s, port: {%s}}}", []string{"web", "api", "gone"}[min(r.IntN(9)/4, 2)], []string{"number: 80", "name: http"}[r.IntN(2)])
	}
	if i == 0 && r.IntN(3) == 0 {
		fmt.Fprintf(&out, "  defaultBackend: %s\n", backend())
	}
	out.WriteString("  rules:\n")
	for range 1 + r.IntN(2) {
		fmt.Fprintf(&out, "  - host: %q\n    http:\n      paths:\n", pick(r, hostChoices))
		for range 1 + r.IntN(3) {
			kind, from := "Prefix", prefixPaths
			switch r.IntN(4) {
			case 0:
				kind, from = "Exact", exactPaths
			case 1:
				kind, from = "ImplementationSpecific", implementationSpecificPaths
			}
			fmt.Fprintf(&out, "      - {path: %q, pathType: %s, backend: %s}\n", pick(r, from), kind, backend())
		}
	}
	return out.String()
}
