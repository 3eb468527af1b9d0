package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// mailGateway is Gateway "mail", which has the same ports as Service "mail" and adopts the load balancer of that
// Service.
const mailGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: mail, namespace: shop}
spec:
  targetReference: {name: mail}
  defaultConfiguration: {targetType: ip, healthCheckConfig: {healthCheckInterval: 10, healthCheckTimeout: 10}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: mail
  namespace: shop
  uid: 22222222-0000-4000-8000-000000000009
  annotations: {fulcrum.dev/adopt: service/mail, gateway.k8s.aws/dry-run: "true"}
spec: {gatewayClassName: nlb, listeners: [{name: smtp, protocol: TCP, port: 25}, {name: imap, protocol: TCP, port: 143}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: smtp, namespace: shop}
spec: {parentRefs: [{name: mail, sectionName: smtp}], rules: [{backendRefs: [{name: mail, port: 25}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: imap, namespace: shop}
spec: {parentRefs: [{name: mail, sectionName: imap}], rules: [{backendRefs: [{name: mail, port: 143}]}]}
`

// mailStatusHostnames returns the hostnames in the status of Service "mail" and of Gateway "mail", or "" if there is
// none.
func mailStatusHostnames(r *Harness) (service, gateway string) {
	obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
	if svc, ok := obj.(*corev1.Service); ok && len(svc.Status.LoadBalancer.Ingress) > 0 {
		service = svc.Status.LoadBalancer.Ingress[0].Hostname
	}
	obj, _ = r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "mail"})
	if gw, ok := obj.(*gwv1.Gateway); ok && len(gw.Status.Addresses) > 0 {
		gateway = gw.Status.Addresses[0].Value
	}
	return service, gateway
}

// TestLoadBalancerOfServiceIsAdopted checks that a Gateway adopts the load balancer of a Service and returns it, and
// that nothing remains after both objects are deleted.
func TestLoadBalancerOfServiceIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		empty := r.State()
		r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets, "{name: smtp, port: 25, targetPort: 8080}, {name: imap, port: 143, targetPort: 8080}"))
		r.advanceTime(8 * time.Minute)
		before := r.State()
		name, _ := mailStatusHostnames(r)
		r.Emulator.Calls().Reset()
		r.Apply(mailGateway)
		r.advanceTime(time.Minute)
		if n := r.Emulator.Calls().CountMutating(); n > 0 || name == "" {
			t.Fatalf("the dry run for %q makes %d changes: %v", name, n, r.Emulator.Calls().Counts())
		}
		defer func() {
			if t.Failed() {
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
						t.Logf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
					}
				}
			}
		}()
		adopt := func() {
			t.Helper()
			annotateGateway(r, "shop", "mail", naming.DryRunAnnotation+"-")
			r.advanceTime(10 * time.Minute)
			for _, line := range r.State() {
				if strings.Contains(line, naming.StackTag(model.Service)) {
					t.Fatalf("this resource still belongs to the Service: %s", line)
				}
			}
			if service, gateway := mailStatusHostnames(r); service != name || gateway != name {
				t.Errorf("%q is shown by the Service, %q by the Gateway, want %q", service, gateway, name)
			}
		}
		adopt()
		r.Emulator.Calls().Reset()
		r.advanceTime(11 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("without edits there are %d changes: %v", n, r.Emulator.Calls().Counts())
		}
		annotateGateway(r, "shop", "mail", naming.DryRunAnnotation+"=true")
		r.advanceTime(10 * time.Minute)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("not as before (-before +after):\n%s", d)
		}
		adopt()
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.advanceTime(time.Minute)
		if obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}); obj != nil {
			t.Errorf("the Service is not deleted, finalizers %v", obj.GetFinalizers())
		}
		if _, gateway := mailStatusHostnames(r); gateway != name {
			t.Errorf("the Gateway shows %q", gateway)
		}
		r.deleteObject(cluster.KindGateway, "shop", "mail")
		r.advanceTime(20 * time.Minute)
		if d := cmp.Diff(empty, r.State()); d != "" {
			t.Errorf("left after the deletion (-before +after):\n%s", d)
		}
	})
}

// TestGatewayMustHaveTheSettingsInAWS checks that a Gateway does not adopt the load balancer of a Service if a setting of the
// Gateway differs from the value in AWS, which the Service keeps because it does not set it.
func TestGatewayMustHaveTheSettingsInAWS(t *testing.T) {
	t.Parallel()
	const ports = "{name: smtp, port: 25, targetPort: 8080}, {name: imap, port: 143, targetPort: 8080}"
	for configured, adopted := range map[string]bool{"on": false, "off": true} {
		t.Run(configured, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets+", service.beta.kubernetes.io/aws-load-balancer-inbound-sg-rules-on-private-link-traffic: 'off'", ports))
				r.advanceTime(8 * time.Minute)
				r.Apply(nlbService("mail", ipTargets, ports))
				r.advanceTime(time.Minute)
				r.Emulator.Calls().Reset()
				r.Apply(`
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: mail, namespace: shop}
spec: {enforceSecurityGroupInboundRulesOnPrivateLinkTraffic: "`+configured+`"}
`, strings.NewReplacer("gatewayClassName: nlb,", "gatewayClassName: nlb, infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: mail}},",
					`, gateway.k8s.aws/dry-run: "true"`, "").Replace(mailGateway))
				r.advanceTime(10 * time.Minute)
				if _, gateway := mailStatusHostnames(r); gateway != "" != adopted {
					t.Errorf("adopted: %t, want %t", gateway != "", adopted)
				}
				reported := false
				for _, o := range r.Store.All("Event") {
					e := o.(*corev1.Event)
					reported = reported || strings.Contains(e.Message, "rules for AWS PrivateLink: Service off, Gateway on")
				}
				if n := r.Emulator.Calls().Count("SetSecurityGroups"); n > 0 || reported == adopted {
					t.Errorf("%d changes of the setting, the difference is reported: %t", n, reported)
				}
			})
		})
	}
}
