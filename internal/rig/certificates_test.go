package rig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// newManagingShop is a shop whose controller requests certificates, in a world where public ones
// take the given time to be issued; negative: they never are.
func newManagingShop(t *testing.T, delay time.Duration) *Rig {
	t.Helper()
	r := New(t, Options{
		Ingress: func(o *ingress.Options) { o.ManageCertificates = true },
		Plan:    func(o *plan.Options) { o.ManageCertificates, o.SkipManagedCertificates = true, true },
		Cloud:   func(c *cloud.Config) { c.ManagedCertificates = true },
	})
	for i, a := range podAddresses {
		if err := Assign(t.Context(), AWSConfig(r.Emulator), r.World.Instances[i%3], a); err != nil {
			t.Fatal(err)
		}
	}
	w := r.Emulator.World()
	w.Lock()
	w.Config.ACM.ValidationDelay, w.Config.ACM.AssumeRecords = delay, true
	w.Unlock()
	r.Emulator.Calls().Reset()
	return r
}

// served lists the requested certificates with their hosts and whether a listener has them.
func served(r *Rig) []string {
	w := r.Emulator.World()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var out []string
	for arn, c := range p.ACM.Certificates {
		if c.Type != acmtypes.CertificateTypeImported {
			out = append(out, fmt.Sprintf("%s %d", strings.Join(c.Names, ","), len(p.CertificateUsers(arn))))
		}
	}
	slices.Sort(out)
	return out
}

const more = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/create-acm-cert: "true"}
spec:
  ingressClassName: alb
  tls: [{hosts: [www.example.com]}]
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

func certificateLife(t *testing.T, r *Rig) (states [][]string) {
	t.Helper()
	act := func(objects ...string) {
		t.Helper()
		r.Apply(objects...)
		for range 5 {
			failed := r.Settle(2 * time.Hour)
			if !r.Dead() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, served(r))
	}
	act(shop, pods("web", podAddresses[:3]...), ingressOf(annotated("create-acm-cert", "true"), "/=web"))
	act(more)
	act(ingressOf(annotated("certificate-arn", r.World.Certs["example.com"]), "/=web"))
	act(more)
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	act()
	return states
}

var certificateStates = [][]string{
	{"shop.example.com 1"},
	{"shop.example.com,www.example.com 1"},
	nil,
	{"shop.example.com,www.example.com 1"},
	nil,
}

func TestCertificatesAreRequestedAndDeleted(t *testing.T) {
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := newManagingShop(t, 3*time.Minute)
		before := r.State()
		if diff := cmp.Diff(certificateStates, certificateLife(t, r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("deletion leaves something (-before +after):\n%s", diff)
		}
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().Mutating()
	})
	t.Logf("%d calls, %d of them mutating", calls, mutations)
	try := func(n int, what string, hook func(r *Rig) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := newManagingShop(t, 3*time.Minute)
			r.Emulator.Faults().SetHook(hook(r))
			if diff := cmp.Diff(certificateStates, certificateLife(t, r)); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", what, n, diff)
			}
		})
	}
	for n := 1; n <= calls && !t.Failed(); n += 5 {
		try(n, "killed after call", func(r *Rig) fault.Hook {
			return func(c fault.Call) fault.Action {
				if c.Sequence == n {
					r.Kill()
				}
				return fault.Action{}
			}
		})
	}
	for n := 1; n <= mutations && !t.Failed(); n += 3 {
		try(n, "answer lost of write", func(*Rig) fault.Hook {
			return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
		})
	}
}

func TestACertificateThatIsNotIssuedHoldsItsIngressAndNamesTheRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newManagingShop(t, -1)
		r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf(annotated("create-acm-cert", "true"), "/=web"))
		r.Settle(time.Hour)
		if got := guarded(r); got != "no load balancer" {
			t.Errorf("one was made")
		}
		if w := strings.Join(warnings(r)["web"], ""); !strings.Contains(w, "CertificatePending") || !strings.Contains(w, "acm-validations.aws") {
			t.Errorf("warnings: %s", w)
		}
		if n := r.Emulator.Calls().Count("RequestCertificate"); n != 1 {
			t.Errorf("%d requests", n)
		}
		// Somebody makes the records.
		w := r.Emulator.World()
		w.Lock()
		w.Config.ACM = world.ACMConfig{AssumeRecords: true}
		w.Unlock()
		settled(t, r)
		if diff := cmp.Diff([]string{"shop.example.com 1"}, served(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Emulator.Calls().Reset()
		r.Start()
		settled(t, r)
		if n := r.Emulator.Calls().Mutating(); n > 0 {
			t.Errorf("a restart made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}
