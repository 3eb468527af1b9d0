package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// nlbService returns YAML of a Service in namespace "shop" whose class requests an NLB. annotations and ports are
// YAML lists without brackets.
func nlbService(name, annotations, ports string) string {
	return `
apiVersion: v1
kind: Service
metadata: {name: ` + name + `, namespace: shop, uid: 22222222-0000-4000-8000-000000000001, annotations: {` + annotations + `}}
spec: {type: LoadBalancer, loadBalancerClass: ` + services.DefaultClass + `, selector: {app: ` + name + `}, ports: [` + ports + `]}
`
}

const ipTargets = `service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip`

// TestServiceLifecycle checks that a Service gets an NLB, that its status shows the ports, that nothing changes without
// an edit, and that nothing remains after the deletion.
func TestServiceLifecycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotations, ports string
		status             string
	}{
		"instance targets": {"", "{port: 80, targetPort: 8080, nodePort: 30080}", "80/TCP"},
		"ip targets":       {ipTargets, "{port: 80, targetPort: 8080}", "80/TCP"},
		"without security groups": {ipTargets + `, service.beta.kubernetes.io/aws-load-balancer-disable-nlb-sg: "true"`,
			"{port: 80, targetPort: 8080}", "80/TCP"},
		"TCP and UDP on one port": {ipTargets + `, service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener: "true"`,
			"{name: a, port: 53, targetPort: 5353, protocol: TCP}, {name: b, port: 53, targetPort: 5353, protocol: UDP}", "53/TCP,53/UDP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				before := r.State()
				r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", c.annotations, c.ports))
				r.advanceTime(8 * time.Minute)
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
				if err != nil {
					t.Fatal(err)
				}
				if got := statusPorts(obj); got != c.status {
					t.Errorf("the status shows %q, want %q\n%s\n%v", got, c.status, strings.Join(r.State(), "\n"), r.Store.All("Event"))
				}
				r.Emulator.Calls().Reset()
				r.advanceTime(11 * time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("a Service without edits causes %d changes: %v", n, r.Emulator.Calls().Counts())
				}
				r.deleteObject(cluster.KindService, "shop", "mail")
				r.advanceTime(20 * time.Minute)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
			})
		})
	}
}

// statusPorts returns the load balancer ports in the status of a Service, such as "80/TCP,53/UDP".
func statusPorts(obj cluster.Object) string {
	var out []string
	for _, lb := range obj.(*corev1.Service).Status.LoadBalancer.Ingress {
		for _, p := range lb.Ports {
			out = append(out, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
		}
	}
	return strings.Join(out, ",")
}

// TestHeldPortStaysAsItIs checks that a port with an invalid setting keeps its listener and its target group as they
// are, while an edit of another port is applied.
func TestHeldPortStaysAsItIs(t *testing.T) {
	t.Parallel()
	const ports = "{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: 8080}"
	of80 := func(r *Harness) (out []string) {
		for _, line := range taggedLines(r, model.Service) {
			if strings.Contains(line, "shop/mail:80") || strings.Contains(line, `/resource":"80"`) {
				out = append(out, line)
			}
		}
		return out
	}
	for name, fault := range map[string]string{
		"an action":                   `service.beta.kubernetes.io/actions.TCP-80: '{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"none","servicePort":80,"weight":1}]}}'`,
		"QUIC":                        `service.beta.kubernetes.io/aws-load-balancer-quic-enabled-ports: a`,
		"attributes of target groups": `service.beta.kubernetes.io/aws-load-balancer-target-group-attributes.80: junk`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets, ports))
				r.advanceTime(8 * time.Minute)
				before := of80(r)
				if len(before) < 2 {
					t.Fatalf("%v\n%s", before, strings.Join(r.State(), "\n"))
				}
				r.Apply(nlbService("mail", ipTargets+`, service.beta.kubernetes.io/aws-load-balancer-target-group-attributes.81: "deregistration_delay.timeout_seconds=17", `+fault, ports))
				r.advanceTime(20 * time.Minute)
				if d := cmp.Diff(before, of80(r)); d != "" {
					t.Errorf("the held port changes (-before +after):\n%s", d)
				}
				if !slices.ContainsFunc(taggedLines(r, model.Service), func(line string) bool {
					return strings.Contains(line, "shop/mail:81") && strings.Contains(line, `"deregistration_delay.timeout_seconds":"17"`)
				}) {
					t.Errorf("the other port does not follow its edit:\n%s", strings.Join(taggedLines(r, model.Service), "\n"))
				}
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
				if err != nil {
					t.Fatal(err)
				}
				if got := statusPorts(obj); got != "80/TCP,81/TCP" {
					t.Errorf("the status shows %q", got)
				}
			})
		})
	}
}

// TestStatusShowsTheProtocolInAWS checks that the status of a Service shows the protocol that the listener has in AWS, not
// the desired one, if the listener is held. A GlobalAccelerator takes its ports from this status.
func TestStatusShowsTheProtocolInAWS(t *testing.T) {
	t.Parallel()
	const (
		merge        = `, service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener: "true"`
		tcp          = "{name: a, port: 53, targetPort: 8080, nodePort: 30053}"
		udp          = "{name: b, port: 53, targetPort: 8080, nodePort: 30053, protocol: UDP}"
		otherTargets = "{name: b, port: 53, targetPort: 8081, nodePort: 30054, protocol: UDP}"
		tls          = `, service.beta.kubernetes.io/aws-load-balancer-ssl-cert: "arn:aws:acm:us-west-2:123456789012:certificate/none"`
	)
	for name, c := range map[string]struct {
		before, after           string // annotations after ipTargets
		portsBefore, portsAfter string
		status                  string
		instances               bool
	}{
		"merged with other node ports":   {after: merge, portsBefore: tcp + "," + otherTargets, portsAfter: tcp + "," + otherTargets, status: "53/TCP", instances: true},
		"merged with other target ports": {after: merge, portsBefore: tcp + "," + otherTargets, portsAfter: tcp + "," + otherTargets, status: "53/TCP"},
		"other target ports":             {before: merge, after: merge, portsBefore: tcp + "," + udp, portsAfter: tcp + "," + otherTargets, status: "53/TCP,53/UDP"},
		"TLS without a certificate":      {after: tls, portsBefore: udp, portsAfter: tcp, status: "53/UDP"},
		"another protocol":               {portsBefore: udp, portsAfter: tcp, status: "53/TCP"},
		"merged":                         {after: merge, portsBefore: tcp + "," + udp, portsAfter: tcp + "," + udp, status: "53/TCP,53/UDP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				targets := ipTargets
				if c.instances {
					targets = strings.Replace(ipTargets, "type: ip", "type: instance", 1)
				}
				r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", targets+c.before, c.portsBefore))
				r.advanceTime(8 * time.Minute)
				r.Apply(nlbService("mail", targets+c.after, c.portsAfter))
				r.advanceTime(20 * time.Minute)
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
				if err != nil {
					t.Fatal(err)
				}
				if got := statusPorts(obj); got != c.status {
					t.Errorf("the status shows %q, want %q\n%s", got, c.status, strings.Join(taggedLines(r, model.Service), "\n"))
				}
			})
		})
	}
}

// TestLoadBalancerIsDeletedWithItsService checks that a load balancer is deleted if its Service is deleted or changes
// its type. With deletion protection, it is kept until the protection is disabled.
func TestLoadBalancerIsDeletedWithItsService(t *testing.T) {
	t.Parallel()
	const ports = "{port: 80, targetPort: 8080}"
	protected := ipTargets + `, service.beta.kubernetes.io/aws-load-balancer-attributes: "deletion_protection.enabled=true"`
	unprotected := strings.Replace(protected, "true\"", "false\"", 1)
	otherType := strings.NewReplacer("type: LoadBalancer, loadBalancerClass: "+services.DefaultClass, "type: ClusterIP")
	for name, c := range map[string]struct {
		first       string
		leave       func(r *Harness)
		stays, then func(r *Harness)
	}{
		"another type": {nlbService("mail", ipTargets, ports), func(r *Harness) { r.Apply(otherType.Replace(nlbService("mail", ipTargets, ports))) }, nil, nil},
		"deleted with protection": {nlbService("mail", protected, ports), func(r *Harness) { r.deleteObject(cluster.KindService, "shop", "mail") }, func(*Harness) {},
			func(r *Harness) { r.Apply(nlbService("mail", unprotected, ports)) }},
		"another type with protection": {nlbService("mail", protected, ports), func(r *Harness) { r.Apply(otherType.Replace(nlbService("mail", protected, ports))) }, func(*Harness) {},
			func(r *Harness) { r.Apply(otherType.Replace(nlbService("mail", unprotected, ports))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				before := r.State()
				r.Apply(readyPods("mail", podAddresses[:3]...), c.first)
				r.advanceTime(8 * time.Minute)
				made := taggedLines(r, model.Service)
				if len(made) == 0 {
					t.Fatal("no resource is created")
				}
				c.leave(r)
				r.advanceTime(20 * time.Minute)
				if c.stays != nil {
					if d := cmp.Diff(made, taggedLines(r, model.Service)); d != "" {
						t.Errorf("the protected load balancer changes: %s", d)
					}
					c.then(r)
					r.advanceTime(20 * time.Minute)
				}
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("left behind (-before +after):\n%s", d)
				}
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"})
				if err != nil {
					t.Fatal(err)
				}
				if svc, ok := obj.(*corev1.Service); ok && (len(svc.Finalizers) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0) {
					t.Errorf("finalizers %v, status %v", svc.Finalizers, svc.Status)
				}
			})
		})
	}
}
