package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/chromedp/chromedp"

	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// faultyApps are Ingresses, most of them with a fault that the console must show. The test replaces SCHEME.
const faultyApps = sharedObjects + webApp + `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: "5"
    alb.ingress.kubernetes.io/healthcheck-timeout-seconds: "2"
    alb.ingress.kubernetes.io/conditions.beta: '[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"beta","values":["1"]}}]'
    alb.ingress.kubernetes.io/actions.beta: '{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"beta"}}'
spec:
  ingressClassName: alb
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}
      - {path: /*, pathType: ImplementationSpecific, backend: {service: {name: beta, port: {name: use-annotation}}}}
      - {path: /orders, pathType: Exact, backend: {service: {name: orders, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: secure
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]'
    alb.ingress.kubernetes.io/certificate-arn: arn:aws:acm:us-west-2:123456789012:certificate/00000000-1111-2222-3333-444444444444
spec:
  ingressClassName: alb
  rules:
  - host: secure.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: mistyped, namespace: default}
spec:
  ingressClassName: albb
  rules:
  - host: mistyped.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: moved
  namespace: default
  annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: SCHEME}
spec:
  ingressClassName: alb
  rules:
  - host: moved.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
`

// TestConsolePageShowsTenFaults checks that the page "Trouble" shows each of ten faults, most of them with the object and a
// way to fix the fault, without a click. It logs how long that takes, but has no time limit of its own.
func TestConsolePageShowsTenFaults(t *testing.T) {
	if worldtest.IsOtherControllerTested() {
		t.Skip("the other controller has no console")
	}
	t.Parallel()
	tab := browser.Open(t)
	w := worldtest.Start(t, world.Options{ActiveImmediately: true})
	s, err := scenario.New(w)
	if err != nil {
		t.Fatal(err)
	}
	applier := worldtest.NewApplier(t, w)
	apply := func(scheme string) {
		t.Helper()
		applier(strings.ReplaceAll(faultyApps, "SCHEME", scheme))
	}
	apply("internal")
	if err := w.StartController(worldtest.ControllerPath(t), "--drift=report"); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
		_, err := s.Hostname(ctx, "default", "moved")
		return errors.Join(err, s.CheckHealthyTargets(ctx, "default", "web", 4))
	})
	injectFaults(t, s)
	apply("internet-facing")
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
		lbs, err := w.LoadBalancers(ctx)
		moved := slices.DeleteFunc(lbs, func(lb world.LoadBalancer) bool { return !strings.HasPrefix(lb.Name, "k8s-default-moved-") })
		if err == nil && len(moved) != 2 {
			err = fmt.Errorf("Ingress default/moved has %d load balancers, want 2", len(moved))
		}
		return err
	})

	page := startConsole(t, w)
	shows := func(on string, texts ...string) string {
		var all []string
		for _, text := range texts {
			all = append(all, fmt.Sprintf(`document.querySelector("#%s").innerText.includes(%q)`, on, text))
		}
		return strings.Join(all, " && ")
	}
	began := time.Now()
	tab.Do(chromedp.Navigate(page + "#/trouble"))
	for _, fault := range []struct {
		name  string
		shown []string // texts that the page must contain
	}{
		{"missing Service", []string{"Service default/orders does not exist", "create the Service or correct its name"}},
		{"refused certificate", []string{"Ingress default/secure", "00000000-1111-2222-3333-444444444444"}},
		{"drift", []string{"rule 1 Ingress default/shop"}},
		{"quota", []string{"application-load-balancers: 3 of 3 in use", "request a higher quota in Service Quotas"}},
		{"shadowed rule", []string{"gets no requests; spec.rules[0].http.paths[0] of the same object comes first", "put the more specific rule first"}},
		{"missing permission", []string{"may not call wafv2:GetWebACLForResource", "grant it to the role"}},
		{"wrong class", []string{"Ingress default/mistyped (albb)", "create the class, or correct spec.ingressClassName"}},
		{"orphan", []string{"Ingress default/gone has resources that no object needs", "k8s-default-gone-0123456789"}},
		{"replaced load balancer", []string{"a new load balancer replaces it", "restore the previous value"}},
		{"dead pods", []string{"0 of 2 healthy", "Health checks failed with these codes: [503]"}},
	} {
		tab.WaitUntil(shows("trouble", fault.shown...))
		took := time.Since(began)
		t.Logf("BENCH %s: on the page after %.1f s", fault.name, took.Seconds())
	}
	tab.WaitUntil(`[...document.querySelectorAll("#trouble details.fold > summary")].some((s) => s.innerText.includes("replacement of load balancer k8s-default-moved-"))`)
	tab.Screenshot("faults")
	tab.TakePageErrors()
	checkPageWhileAWSHangs(t, tab, w, shows)
}

// checkPageWhileAWSHangs checks the page while AWS does not respond: it shows that the next read of AWS is overdue, and then
// that the read has failed. It keeps its data and can be searched. It recovers when AWS responds again.
func checkPageWhileAWSHangs(t *testing.T, tab *browser.Tab, w *world.World, shows func(string, ...string) string) {
	t.Helper()
	callEmulatorAdmin(t, w, http.MethodPost, "faults", map[string]any{"Operation": "*", "Action": map[string]bool{"Hang": true}})
	tab.WaitUntil(shows("status", "the next look has not ended for"))
	browser.Eval[string](tab, `location.hash = "#/topology?query=shop.example.com"`)
	tab.WaitUntil(rowsText + `.includes("host shop.example.com")`)
	browser.Eval[string](tab, `location.hash = "#/topology?query=moved"`)
	tab.WaitUntil(rowsText + `.includes("moved") && !` + rowsText + `.includes("shop.example.com")`)
	took := tab.WaitUntil(shows("banner", "The last look failed", "What is shown is as of before"))
	t.Logf("BENCH the page says that a look has failed %.1f s after it was overdue", took.Seconds())
	if !browser.Eval[bool](tab, `Boolean(`+rowsText+`.includes("moved"))`) {
		t.Error("the page does not keep its data after a failed read")
	}
	callEmulatorAdmin(t, w, http.MethodDelete, "faults", nil)
	tab.WaitUntil(`document.querySelector("#banner").hidden`)
	if errs := tab.TakePageErrors(); len(errs) > 0 {
		t.Errorf("errors in the page: %q", errs)
	}
}

// injectFaults creates those faults of TestConsolePageShowsTenFaults that are not in faultyApps: pods that respond with 503,
// drift, an orphan, a reached quota and a missing permission.
func injectFaults(t *testing.T, s *scenario.Scenario) {
	t.Helper()
	ctx, api := t.Context(), elbv2.NewFromConfig(s.World.AWSConfig())
	pods, err := s.ReadyPods(ctx, "default", "app=web", 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		if err := annotatePod(ctx, s, "default", p, "local.fulcrum/status", "503"); err != nil {
			t.Fatal(err)
		}
	}
	// Drift: a rule is deleted outside the controller.
	deleteRule(t, s, api)
	// An orphan: no object needs this target group.
	tag := func(key, value string) types.Tag { return types.Tag{Key: aws.String(key), Value: aws.String(value)} }
	if _, err := api.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
		Name: aws.String("k8s-default-gone-0123456789"), Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp, VpcId: aws.String(s.World.Layout().VPC),
		Tags: []types.Tag{tag("elbv2.k8s.aws/cluster", s.World.Layout().Cluster), tag("ingress.k8s.aws/stack", "default/gone"), tag("ingress.k8s.aws/resource", "default/gone-web:80")},
	}); err != nil {
		t.Fatal(err)
	}
	callEmulatorAdmin(t, s.World, http.MethodPatch, "config", map[string]any{"Quotas": map[string]int{"application-load-balancers": 3}})
	callEmulatorAdmin(t, s.World, http.MethodPost, "faults", map[string]any{"Service": "wafv2", "Operation": "GetWebACLForResource", "Action": map[string]bool{"Deny": true}})
}

// deleteRule deletes the first rule that AWS lists for Ingress "shop".
func deleteRule(t *testing.T, s *scenario.Scenario, api *elbv2.Client) {
	t.Helper()
	lbs, err := s.World.LoadBalancers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lb := range lbs {
		if !strings.HasPrefix(lb.Name, "k8s-default-shop-") {
			continue
		}
		listeners, err := api.DescribeListeners(t.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(lb.ARN)})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := api.DescribeRules(t.Context(), &elbv2.DescribeRulesInput{ListenerArn: listeners.Listeners[0].ListenerArn})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.DeleteRule(t.Context(), &elbv2.DeleteRuleInput{RuleArn: rules.Rules[0].RuleArn}); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("Ingress default/shop has no load balancer")
}
