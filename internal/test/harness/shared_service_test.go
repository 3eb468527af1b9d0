package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestForgedServiceFinalizerDoesNotMakeMember checks that a Service with the finalizer of another namespace's shared load
// balancer does not become a member. No port is opened for it, and the load balancer is deleted with its last member.
func TestForgedServiceFinalizerDoesNotMakeMember(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]string{
		"alone":                     "",
		"with the annotation":       ", fulcrum.dev/load-balancer-group: shop/public",
		"with an annotation of its": ", fulcrum.dev/load-balancer-group: mine",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets+", fulcrum.dev/load-balancer-group: public", "{port: 80, targetPort: 8080}"))
				r.advanceTime(8 * time.Minute)
				forged := strings.NewReplacer("namespace: shop", "namespace: bank, finalizers: [group.service.k8s.aws/shop.public]",
					"-0000-4000-8000-000000000001", "-0000-4000-8000-000000000002", `load-balancer-group: public`, ``).
					Replace(nlbService("thief", ipTargets+annotations, "{port: 9000, targetPort: 8080}"))
				r.Apply(forged)
				for range 40 {
					r.advanceTime(30 * time.Second)
					for _, line := range r.State() {
						if strings.Contains(line, "bank/thief:9000") && strings.Contains(line, "shop/group.public") {
							t.Fatalf("the Service of bank has %s", line)
						}
					}
				}
				if len(linesWith(r.State(), "grouppub")) == 0 || len(linesWith(r.State(), "shop/group.public")) == 0 {
					t.Fatalf("the state does not show the shared load balancer:\n%s", strings.Join(r.State(), "\n"))
				}
				r.deleteObject(cluster.KindService, "shop", "mail")
				r.advanceTime(30 * time.Minute)
				for _, line := range r.State() {
					if strings.Contains(line, "grouppub") || strings.Contains(line, "shop/group.public") {
						t.Errorf("left behind: %s", line)
					}
				}
			})
		})
	}
}

// TestNewMemberDoesNotDecideScheme checks a shared load balancer whose members set no scheme. A new Service, even an
// older one, cannot make it internet-facing until all members set this scheme.
func TestNewMemberDoesNotDecideScheme(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		const shares = ", fulcrum.dev/load-balancer-group: public"
		const public = ", service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing"
		schemes := func() (out []string) {
			for _, line := range r.State() {
				if strings.HasPrefix(line, "load-balancer ") && strings.Contains(line, "shop/group.public") {
					out = append(out, strings.Split(line, ",")[2])
				}
			}
			return out
		}
		r.Apply(readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets+shares, "{port: 80, targetPort: 8080}"))
		r.advanceTime(8 * time.Minute)
		newcomer := strings.Replace(nlbService("bulk", ipTargets+shares+public, "{port: 25, targetPort: 8080}"), "uid: 22222222-0000-4000-8000-000000000001", `uid: 33333333-0000-4000-8000-000000000001, creationTimestamp: "1999-01-01T00:00:00Z"`, 1)
		r.Apply(newcomer)
		r.advanceTime(40 * time.Minute)
		if got := schemes(); len(got) != 1 || got[0] != `"internal"` {
			t.Fatalf("the schemes are %v, want internal alone", got)
		}
		r.Apply(nlbService("mail", ipTargets+shares+public, "{port: 80, targetPort: 8080}"))
		r.advanceTime(40 * time.Minute)
		if got := schemes(); len(got) != 1 || got[0] != `"internet-facing"` {
			t.Errorf("all members set internet-facing, but the schemes are %v", got)
		}
	})
}
