package service_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// sharingService describes a Service that shares a load balancer.
type sharingService struct {
	name        string
	creationDay int
	ports       []int32
	invalid     bool
}

func (s sharingService) yaml() string {
	var ports []string
	for _, p := range s.ports {
		ports = append(ports, fmt.Sprintf("{name: p%d, port: %d, targetPort: 8080}", p, p))
	}
	annotations := `fulcrum.dev/load-balancer-group: g, service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip`
	if s.invalid {
		annotations += ", service.beta.kubernetes.io/aws-load-balancer-scheme: nowhere"
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: %s, uid: uid-%s, creationTimestamp: "2024-01-%02dT00:00:00Z", annotations: {%s}}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [%s]}
`, s.name, s.name, s.creationDay, annotations, strings.Join(ports, ", "))
}

// TestSharedPortHasTheSameServiceInAnyOrder checks, for random Services, that each port number has one listener. The
// listener belongs to the oldest Service without a fault that has this port, otherwise to the oldest Service. The order in
// which Services are listed makes no difference, and neither do Services that lose all of their ports.
func TestSharedPortHasTheSameServiceInAnyOrder(t *testing.T) {
	id := naming.SharedStack("shop", "g")
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []sharingService
		for i := range 2 + r.IntN(5) {
			s := sharingService{name: fmt.Sprintf("s%d", i), creationDay: 1 + r.IntN(5), invalid: r.IntN(5) == 0}
			for _, p := range r.Perm(5)[:1+r.IntN(3)] {
				s.ports = append(s.ports, int32(80+p))
			}
			all = append(all, s)
		}
		winner := map[int32]sharingService{}
		for _, s := range all {
			for _, p := range s.ports {
				w, taken := winner[p]
				if !taken || w.invalid && !s.invalid || w.invalid == s.invalid && (s.creationDay < w.creationDay || s.creationDay == w.creationDay && s.name < w.name) {
					winner[p] = s
				}
			}
		}
		load := func(of []sharingService) cluster.Source {
			var docs []string
			for _, s := range of {
				docs = append(docs, s.yaml())
			}
			return enginetest.LoadObjects(t, strings.Join(docs, "---"))
		}
		stack := func(src cluster.Source) model.Stack {
			out, _ := enginetest.Translate(t, service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}), src, id, nil)
			return out
		}
		got := stack(load(all))
		want := map[int32]string{}
		for p, s := range winner {
			want[p] = "shop/" + s.name
		}
		have := map[int32]string{}
		for _, l := range got.LoadBalancer.Listeners {
			have[l.Port] += l.Members[0].Namespace + "/" + l.Members[0].Name
		}
		if d := cmp.Diff(want, have); d != "" {
			t.Fatalf("seed %d (-want +got): %s", seed, d)
		}
		if d := cmp.Diff(got, stack(enginetest.NewShuffledSource(load(all), seed))); d != "" {
			t.Fatalf("seed %d: another order gives something else: %s", seed, d)
		}
		won := map[string]bool{}
		for s := range maps.Values(winner) {
			won[s.name] = true
		}
		served := slices.DeleteFunc(slices.Clone(all), func(s sharingService) bool { return !won[s.name] })
		if d := cmp.Diff(got.LoadBalancer.Listeners, stack(load(served)).LoadBalancer.Listeners); d != "" {
			t.Fatalf("seed %d: Services without a port make a difference: %s", seed, d)
		}
	}
}

// TestOversizedServiceWithFewPortsIsHeldAlone checks that a Service with too many client ranges, attributes or certificates,
// but with one port, is held, and that another Service of the load balancer is not affected.
func TestOversizedServiceWithFewPortsIsHeldAlone(t *testing.T) {
	var ranges, attributes []string
	for i := range 1001 {
		ranges = append(ranges, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
	}
	for i := range 101 {
		attributes = append(attributes, fmt.Sprintf("key%d=1", i))
	}
	for name, annotation := range map[string]string{
		"ranges":       "load-balancer-source-ranges: \"" + strings.Join(ranges, ",") + "\"",
		"attributes":   "aws-load-balancer-target-group-attributes: \"" + strings.Join(attributes, ",") + "\"",
		"certificates": "aws-load-balancer-ssl-cert: \"" + strings.Repeat("arn,", 4001) + "\"",
	} {
		t.Run(name, func(t *testing.T) {
			large := strings.Replace(sharingService{name: "large", creationDay: 1, ports: []int32{80}}.yaml(),
				"annotations: {", "annotations: {service.beta.kubernetes.io/"+annotation+", ", 1)
			src := enginetest.LoadObjects(t, large+"---"+sharingService{name: "small", creationDay: 2, ports: []int32{443}}.yaml())
			out, found := enginetest.Translate(t, service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}), src, naming.SharedStack("shop", "g"), nil)
			held := map[int32]bool{}
			for _, l := range out.LoadBalancer.Listeners {
				held[l.Port] = l.DefaultHeld != 0
			}
			if want := map[int32]bool{80: true, 443: false}; !maps.Equal(held, want) {
				t.Errorf("held listeners %v, want %v; findings %v", held, want, found)
			}
			if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.ServiceTooLarge && f.Object.Name == "large" }) {
				t.Errorf("not reported: %v", found)
			}
		})
	}
}

// TestLostPortOpensNoProtocol checks that a Service that loses a port number to an older Service opens the number over no
// protocol, also if it has the number for TCP and for UDP.
func TestLostPortOpensNoProtocol(t *testing.T) {
	both := func(name string, creationDay int, spec string) string {
		doc := sharingService{name: name, creationDay: creationDay}.yaml()
		return strings.Replace(doc, "ports: []", spec+"ports: [{name: t, port: 53, protocol: TCP, targetPort: 53}, {name: u, port: 53, protocol: UDP, targetPort: 53}]", 1)
	}
	older := strings.Replace(both("older", 1, "loadBalancerSourceRanges: [10.0.0.0/8], "), "annotations: {", `annotations: {service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener: "true", `, 1)
	src := enginetest.LoadObjects(t, older+"---"+both("younger", 2, ""))
	out, found := enginetest.Translate(t, service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}), src, naming.SharedStack("shop", "g"), nil)
	managed, _ := out.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	var rules []string
	for _, r := range managed.Group.Ingress {
		rules = append(rules, fmt.Sprintf("%s %d %s", r.Protocol, r.From, r.CIDR))
	}
	slices.Sort(rules)
	if d := cmp.Diff([]string{"tcp 53 10.0.0.0/8", "udp 53 10.0.0.0/8"}, rules); d != "" {
		t.Errorf("-want +got: %s; findings %v", d, found)
	}
}

// TestForeignServiceDoesNotDelayDeletedServices checks that a deleted Service leaves a load balancer whose other deleted Service
// has deletion protection, although a Service of another namespace has written the finalizer of the load balancer itself.
func TestForeignServiceDoesNotDelayDeletedServices(t *testing.T) {
	deleted := func(name, annotations string) string {
		doc := sharingService{name: name, creationDay: 1, ports: []int32{80}}.yaml()
		return strings.NewReplacer("metadata: {", "metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\", finalizers: [group.service.k8s.aws/shop.g], ", "annotations: {", "annotations: {"+annotations).Replace(doc)
	}
	foreign := strings.NewReplacer("namespace: shop", "namespace: evil", "metadata: {", "metadata: {finalizers: [group.service.k8s.aws/shop.g], ").Replace(sharingService{name: "own", creationDay: 3, ports: []int32{81}}.yaml())
	src := enginetest.LoadObjects(t, deleted("protected", "service.beta.kubernetes.io/aws-load-balancer-attributes: deletion_protection.enabled=true, ")+"---"+deleted("other", "")+"---"+foreign)
	out, found := enginetest.Translate(t, service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}), src, naming.SharedStack("shop", "g"), nil)
	var members, leaving []string
	for _, m := range out.Members {
		members = append(members, m.Ref.Name)
	}
	for _, m := range out.Leaving {
		leaving = append(leaving, m.Ref.Name)
	}
	if !slices.Equal(members, []string{"protected"}) || !slices.Equal(leaving, []string{"own", "other"}) || out.DeletionGuard != nil || out.Held.AllResources {
		t.Errorf("members %q, leaving %q, held %t, guard %v; findings %v", members, leaving, out.Held.AllResources, out.DeletionGuard, found)
	}
}
