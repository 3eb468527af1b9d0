package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// mailGatewayYAML has a Gateway that adopts the load balancer of Service "shop/mail", and the objects that the Gateway needs.
// The Gateway is in dry-run mode.
const mailGatewayYAML = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: aws-nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: mail, namespace: shop}
spec: {targetReference: {name: mail}, defaultConfiguration: {targetType: ip}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: mail, namespace: shop, annotations: {fulcrum.dev/adopt: service/mail, gateway.k8s.aws/dry-run: "true"}}
spec: {gatewayClassName: aws-nlb, listeners: [{name: smtp, port: 25, protocol: TCP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: mail, namespace: shop}
spec: {parentRefs: [{name: mail}], rules: [{backendRefs: [{name: mail, port: 25}]}]}
`

// TestMigrateStatusShowsLoadBalancerOfService checks that "migrate status" shows the state of the load balancer of a Service
// that a Gateway adopts. The command for the next step changes the type of the Service but does not delete it, because
// routes need it.
func TestMigrateStatusShowsLoadBalancerOfService(t *testing.T) {
	service := strings.Replace(sharedServiceYAML("mail", "", 25, 1), "aws-load-balancer-nlb-target-type: ip", "aws-load-balancer-nlb-target-type: ip, fulcrum.dev/adopted-by: mail", 1)
	for name, tc := range map[string]struct {
		adopt, release bool
		shows          []string
	}{
		"shadow":   {false, false, []string{"Service shop/mail   shop/mail   shadow", "kubectl annotate gateway mail -n shop --overwrite gateway.k8s.aws/dry-run-"}},
		"adopted":  {true, false, []string{"Service shop/mail   shop/mail   adopted", `kubectl patch service mail -n shop -p '{"spec":{"type":"NodePort","loadBalancerClass":null}}'`}},
		"released": {true, true, []string{"Service shop/mail   shop/mail   released", "fulcrum.dev/adopt-"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := runScenario(t, func(t *testing.T, r *harness.Harness) {
				r.Apply(service)
				r.Settle(20 * time.Minute)
				r.Apply(mailGatewayYAML)
				r.Settle(20 * time.Minute)
				if tc.adopt {
					editGatewayAnnotations(t, r, func(a map[string]string) { delete(a, naming.DryRunAnnotation) })
					r.Settle(20 * time.Minute)
				}
				if tc.release {
					r.Apply(strings.Replace(strings.SplitN(service, "---", 2)[0], "type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb", "type: NodePort", 1))
					r.Settle(20 * time.Minute)
				}
			})
			_, config := serveCluster(t, w.objects)
			code, text, notes := run(t, slices.Concat([]string{"migrate", "status", "-n", "shop", "--kubeconfig=" + config, "--flags-from=none"}, emulatorFlags(t, w.em, w.vpc))...)
			for _, want := range tc.shows {
				if code != 2 || !strings.Contains(text, want) {
					t.Errorf("exit code %d, %q is not shown: %s%s", code, want, text, notes)
				}
			}
		})
	}
}

// TestMigrateStatusShowsOnlySelectedObjects checks that "migrate status" shows only the load balancers of the selected
// namespace or object. The object may be an Ingress, or the Gateway that adopts the load balancer of the Ingress.
func TestMigrateStatusShowsOnlySelectedObjects(t *testing.T) {
	ingresses, gateways := inPlaceManifests(t)
	w := runScenario(t, func(t *testing.T, r *harness.Harness) {
		r.Apply(ingresses, replaceNames(serviceYAML+"---\n"+ingressYAML, "bank", "pay"))
		r.Settle(10 * time.Minute)
		r.Apply(gateways)
		r.Settle(10 * time.Minute)
	})
	_, config := serveCluster(t, w.objects)
	flags := emulatorFlags(t, w.em, w.vpc)
	for args, want := range map[string]struct {
		code, rows int
		text       string
	}{
		"":                                       {2, 2, "Ingress bank/pay    -"},
		"-n bank":                                {0, 1, "Ingress bank/pay   -"},
		"-n shop":                                {2, 1, "IngressGroup edge   shop/edge-grp-gw-"},
		"ingress/web":                            {2, 1, "IngressGroup edge   shop/edge-grp-gw-"},
		"-n empty":                               {1, 0, `namespace "empty" has no object`},
		"gateway/edge-grp-gw-ec5836f6e2 -n shop": {2, 1, "IngressGroup edge   shop/edge-grp-gw-"},
	} {
		if args == "ingress/web" {
			args += " -n shop"
		}
		code, text, notes := run(t, slices.Concat([]string{"migrate", "status", "--kubeconfig=" + config, "--flags-from=none"}, flags, strings.Fields(args))...)
		if n := strings.Count(text, "\nnext: "); code != want.code || !strings.Contains(text+notes, want.text) || n != want.rows {
			t.Errorf("%s: exit code %d, %d\n%s%s", args, code, n, text, notes)
		}
	}
}
