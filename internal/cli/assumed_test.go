package cli

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

// unreachableEnvironment returns environment variables with an address for AWS and Kubernetes. It fails the test if a client
// connects to this address.
func unreachableEnvironment(t *testing.T) map[string]string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Errorf("a connection from %s", c.RemoteAddr())
			c.Close()
		}
	}()
	url := "http://" + l.Addr().String()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "AWS_ACCESS_KEY_ID": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": ""} {
		t.Setenv(name, value)
	}
	config := writeTempFiles(t, map[string]string{"config": kubeconfigOf(l.Addr().String())}) + "/config"
	return map[string]string{"KUBECONFIG": config, "AWS_ENDPOINT_URL": url}
}

// TestPlanWorksOffline checks that plan --offline connects to neither AWS nor a cluster, and prints its assumptions. It
// exits with output.ExitObjectErrors if a finding is an error.
func TestPlanWorksOffline(t *testing.T) {
	env := unreachableEnvironment(t)
	const everything = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80},{"HTTPS":443}]'
    alb.ingress.kubernetes.io/security-groups: sg-1,named
    alb.ingress.kubernetes.io/subnets: subnet-1,front
    alb.ingress.kubernetes.io/wafv2-acl-name: wall
    alb.ingress.kubernetes.io/shield-advanced-protection: "true"
    alb.ingress.kubernetes.io/mutual-authentication: '[{"port":443,"mode":"verify","trustStore":"trusted"}]'
    alb.ingress.kubernetes.io/actions.other: '{"type":"forward","targetGroupName":"theirs"}'
spec:
  ingressClassName: front
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /other, pathType: Prefix, backend: {service: {name: other, port: {name: use-annotation}}}}
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
`
	const gateways = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: l7, listeners: [{name: https, protocol: HTTPS, port: 443, hostname: g.example.com}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: queue, namespace: shop}
spec: {gatewayClassName: l4, listeners: [{name: tcp, protocol: TCP, port: 5672}]}
`
	const hosts = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: l7, allowedListeners: {namespaces: {from: Same}}, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec: {parentRef: {name: edge}, listeners: [{name: https, protocol: HTTPS, port: 443, hostname: set.example.com}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{group: gateway.networking.k8s.io, kind: ListenerSet, name: more}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: queue, namespace: shop}
spec: {gatewayClassName: l4, listeners: [{name: tls, protocol: TLS, port: 5671, tls: {mode: Terminate}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: queue, namespace: shop}
spec: {hostnames: [tls.example.com], parentRefs: [{name: queue}], rules: [{backendRefs: [{name: web, port: 80}]}]}
`
	held := strings.Replace(ingressYAML, "spec:", "  annotations: {alb.ingress.kubernetes.io/scheme: outside}\nspec:", 1)
	held = strings.Replace(held, "metadata: {name: web, namespace: shop}", "metadata:\n  name: web\n  namespace: shop", 1)
	for name, tc := range map[string]struct {
		text    string
		args    []string
		code    int
		out     []string
		assumed []string
		not     []string
	}{
		"plain": {serviceYAML + "---\n" + ingressYAML, nil, 0, []string{"+ create load-balancer/LoadBalancer", "subnets: subnet-assumed-a, subnet-assumed-b, subnet-assumed-c", "elbv2.k8s.aws/cluster=offline"},
			[]string{`the cluster has the name "offline"`, "AWS has no load balancers yet, so everything is created\n", "region us-east-1\n", "VPC vpc-assumed\n", "subnets for load balancers are subnet-assumed-a",
				`IngressClass "alb" exists, belongs to this controller`, `Namespace "shop" exists and has no labels`}, []string{"ACM has", "security groups"}},
		"flags": {serviceYAML + "---\n" + ingressYAML, []string{"--cluster-name=prod", "--aws-region=eu-west-1", "--aws-vpc-id=vpc-7"}, 0, []string{"elbv2.k8s.aws/cluster=prod"}, nil, []string{"region", "VPC", "the cluster has"}},
		"class": {classYAML + "---\n" + serviceYAML + "---\n" + ingressYAML, nil, 0, nil, nil, []string{"IngressClass"}},
		"everything": {serviceYAML + "---\n" + everything, nil, 0, []string{"listener/443", "subnets: subnet-1, subnet-assumed-front", "security groups: sg-1, sg-assumed-named", "verify arn:aws:elasticloadbalancing:us-east-1:123456789012:truststore/trusted/assumed",
			"targetgroup/theirs/assumed", "regional/webacl/wall/assumed", "certificate: arn:aws:acm:us-east-1:123456789012:certificate/assumed"},
			[]string{"ACM has an issued certificate for shop.example.com\n", "security groups sg-1, named exist\n", "the named subnets are subnet-1, subnet-assumed-front", `trust store "trusted" exists`, "target group theirs exists", `web ACL "wall" exists`, "Shield Advanced"}, nil},
		"gateways": {gateways, nil, 0, []string{"# Gateway shop/edge\n", "# Gateway shop/queue\n", "type: network"},
			[]string{`GatewayClass "l7" exists, has controllerName "gateway.k8s.aws/alb"`, `GatewayClass "l4" exists, has controllerName "gateway.k8s.aws/nlb"`}, nil},
		"hosts":        {serviceYAML + "---\n" + hosts, nil, 0, []string{"+ create listener/443", "+ create listener/5671"}, []string{"ACM has an issued certificate for set.example.com, tls.example.com\n"}, nil},
		"a warning":    {ingressYAML, nil, 0, []string{"# warning BackendNotFound"}, nil, nil},
		"an error":     {serviceYAML + "---\n" + held, nil, output.ExitObjectErrors, []string{"# error AnnotationInvalid"}, nil, nil},
		"nothing":      {"", nil, output.ExitFailed, nil, []string{"--filename - has no object of a kind that this command reads"}, nil},
		"with AWS":     {ingressYAML, []string{"--observed=x"}, output.ExitFailed, nil, []string{"[observed offline]"}, nil},
		"no such flag": {ingressYAML, []string{"--offlin"}, output.ExitFailed, nil, []string{`did you mean "--offline"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runWithInput(t, tc.text, env, slices.Concat([]string{"plan", "--offline", "-f=-"}, tc.args)...)
			if code != tc.code {
				t.Errorf("exit %d, want %d: %s%s", code, tc.code, stderr, out)
			}
			for _, want := range tc.out {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in %s", want, out)
				}
			}
			for _, want := range tc.assumed {
				if !strings.Contains(stderr, want) || strings.Count(stderr, want) > 1 {
					t.Errorf("%q: %s", want, stderr)
				}
			}
			for _, no := range tc.not {
				if strings.Contains(stderr, no) {
					t.Errorf("%q: %s", no, stderr)
				}
			}
		})
	}
	code, out, _ := runWithInput(t, serviceYAML+"---\n"+ingressYAML, env, "plan", "--offline", "-f=-", "-o=json")
	var doc PlanDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Assumed) < 5 || doc.Summary.Create == 0 {
		t.Errorf("exit %d, %v: %+v", code, err, doc)
	}
	code, out, stderr := runWithInput(t, serviceYAML+"---\n"+everything, env, "explain", "request", "https://shop.example.com/cart", "--offline", "-f=-")
	if code != 0 || !strings.Contains(out, "-> forward to shop/web-web:80") {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
	if code, _, stderr = runWithInput(t, "", env, "plan", "--offline"); code != output.ExitFailed || !strings.Contains(stderr, "--offline needs the objects of files; name them with -f") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
