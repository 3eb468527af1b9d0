package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// newShopRequestingCertificates returns a harness whose controller requests certificates. ACM sees the validation
// records in the public zone after the given delay, or never if it is negative. A private zone matches the hosts more
// closely, and one certificate of another user has the host *.www.example.com.
func newShopRequestingCertificates(t *testing.T, delay time.Duration) *Harness {
	t.Helper()
	var opt Options
	requestCertificates(&opt)
	r := shopWith(t, opt)
	r.seedZones(delay)
	return r
}

// requestCertificates sets the options with which a controller requests certificates.
func requestCertificates(o *Options) {
	o.Ingress = func(o *ingress.Options) { o.ManageCertificates = true }
	o.Plan = func(o *plan.Options) { o.ManageCertificates, o.SkipManagedCertificates = true, true }
	o.Cloud = func(c *cloud.Config) { c.ManagedCertificates = true }
}

// seedZones creates the zones and the certificate of another user that newShopRequestingCertificates describes.
func (r *Harness) seedZones(delay time.Duration) {
	t := r.T
	t.Helper()
	w := r.Emulator.Store()
	w.Lock()
	w.Config.ACM.ValidationDelay = delay
	w.Unlock()
	r.createZone("example.com", "")
	r.createZone("shop.example.com", r.Seeded.VPC)
	in := &acm.RequestCertificateInput{DomainName: aws.String("*.www.example.com"), ValidationMethod: acmtypes.ValidationMethodDns}
	if _, err := acm.NewFromConfig(AWSConfig(r.Emulator)).RequestCertificate(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	r.Emulator.Calls().Reset()
}

// createZone creates a hosted zone. The zone is private if vpc is not "".
func (r *Harness) createZone(name, vpc string) {
	r.T.Helper()
	in := &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(name + vpc)}
	if vpc != "" {
		in.HostedZoneConfig = &dnstypes.HostedZoneConfig{PrivateZone: true}
		in.VPC = &dnstypes.VPC{VPCId: &vpc, VPCRegion: dnstypes.VPCRegion(RegionOf(r.Emulator))}
	}
	if _, err := route53.NewFromConfig(AWSConfig(r.Emulator)).CreateHostedZone(r.T.Context(), in); err != nil {
		r.T.Fatal(err)
	}
}

// managedCertificates lists the certificates of the controller with their hosts and the number of load balancers that
// use them, and the validation records with their TTL.
func managedCertificates(r *Harness) []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var out []string
	for arn, c := range p.ACM.Certificates {
		if c.Type != acmtypes.CertificateTypeImported && len(c.Tags) > 0 {
			out = append(out, fmt.Sprintf("%s %d", strings.Join(c.Names, ","), len(p.LoadBalancersUsingCertificate(arn))))
		}
	}
	for _, z := range w.Route53State(Account).Zones {
		for _, rec := range z.Records {
			if _, domain, ok := strings.Cut(rec.Name, "."); ok && rec.Type == "CNAME" {
				out = append(out, fmt.Sprintf("record %s %d", domain, rec.TTL))
			}
		}
	}
	slices.Sort(out)
	return out
}

const ingressWithMoreHosts = `
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

// certificateLifecycle edits and deletes Ingress "shop/web", and returns managedCertificates after each step.
func certificateLifecycle(t *testing.T, r *Harness) (states [][]string) {
	t.Helper()
	act := func(objects ...string) {
		t.Helper()
		r.Apply(objects...)
		for range 5 {
			failed := r.Settle(2 * time.Hour)
			if !r.WasKilled() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, managedCertificates(r))
	}
	act(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("create-acm-cert", "true"), "/=web"))
	act(ingressWithMoreHosts)
	act(webIngress(ingressAnnotations("certificate-arn", r.Seeded.Certs["example.com"]), "/=web"))
	act(ingressWithMoreHosts)
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	act()
	return states
}

// certificateStates is the expected result of certificateLifecycle. The record for www stays, because the certificate
// of another user needs it.
var certificateStates = [][]string{
	{"record shop.example.com. 60", "shop.example.com 1"},
	{"record shop.example.com. 60", "record www.example.com. 60", "shop.example.com,www.example.com 1"},
	{"record www.example.com. 60"},
	{"record shop.example.com. 60", "record www.example.com. 60", "shop.example.com,www.example.com 1"},
	{"record www.example.com. 60"},
}

func TestCertificatesAreRequestedAndDeleted(t *testing.T) {
	t.Parallel()
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := newShopRequestingCertificates(t, 3*time.Minute)
		before := r.State()
		if diff := cmp.Diff(certificateStates, certificateLifecycle(t, r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("resources are left after the deletion (-before +after):\n%s", diff)
		}
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating()
	})
	t.Logf("%d calls, %d of them mutating", calls, mutations)
	try := func(n int, what string, hook func(r *Harness) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := newShopRequestingCertificates(t, 3*time.Minute)
			r.Emulator.Faults().SetHook(hook(r))
			if diff := cmp.Diff(certificateStates, certificateLifecycle(t, r)); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", what, n, diff)
			}
		})
	}
	tryInterruptions(t, calls, mutations, try)
}

// TestCertificateForLongHost checks that a certificate is requested for a host that ACM accepts as main domain name, even if
// it is not the first one, and that the others are alternative names.
func TestCertificateForLongHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShopRequestingCertificates(t, 0)
		long := strings.Repeat("a", 60) + ".example.com"
		r.Apply(shop, readyPods("web", podAddresses[:3]...), strings.Replace(ingressWithMoreHosts, "shop.example.com", long, 1))
		settleWithoutErrors(t, r)
		want := []string{"record " + long + ". 60", "record www.example.com. 60", "www.example.com," + long + " 1"}
		if diff := cmp.Diff(want, managedCertificates(r)); diff != "" {
			t.Errorf("certificates (-want +got):\n%s", diff)
		}
	})
}

func TestPendingCertificateCostsFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShopRequestingCertificates(t, -1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("create-acm-cert", "true"), "/=web"))
		r.Settle(time.Minute)
		if got := attachedAddons(r); got != "no load balancer" {
			t.Errorf("a load balancer was created")
		}
		if diff := cmp.Diff([]string{"record shop.example.com. 60", "shop.example.com 0"}, managedCertificates(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if w := warningsByObject(r)["web"]; len(w) > 0 {
			t.Errorf("warnings before the certificate is late: %s", w)
		}
		r.Settle(time.Hour)
		if w := strings.Join(warningsByObject(r)["web"], ""); strings.Count(w, "CertificatePending") != 1 || !strings.Contains(w, "acm-validations.aws") || !strings.Contains(w, "delegated") {
			t.Errorf("warnings: %s", w)
		}
		counts := r.Emulator.Calls()
		if n, m := counts.Count("RequestCertificate"), counts.Count("ChangeResourceRecordSets"); n != 1 || m > 7 {
			t.Errorf("%d requests, %d records sent", n, m)
		}
		if n := counts.Count("ListCertificates") + counts.Count("DescribeCertificate"); n > 2*130 {
			t.Errorf("%d reads of certificates within an hour", n)
		}
		// ACM checks the validation records again.
		w := r.Emulator.Store()
		w.Lock()
		w.Config.ACM.ValidationDelay = 0
		w.UpdateValidations(Account)
		w.Unlock()
		settleWithoutErrors(t, r)
		if diff := cmp.Diff([]string{"record shop.example.com. 60", "shop.example.com 1"}, managedCertificates(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Emulator.Calls().Reset()
		r.Start()
		settleWithoutErrors(t, r)
		if n, dns := r.Emulator.Calls().CountMutating(), r.Emulator.Calls().Count("ListHostedZones"); n > 0 || dns > 0 {
			t.Errorf("a restart made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

func TestNoCertificateRequestWithoutHostedZone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShopRequestingCertificates(t, time.Minute)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("create-acm-cert", "true"), "/=web"))
		settleWithoutErrors(t, r)
		live := []string{"record shop.example.com. 60", "shop.example.com 1"}
		r.Apply(strings.ReplaceAll(ingressWithMoreHosts, "www.example.com", "www.example.org"))
		settleWithoutErrors(t, r)
		if diff := cmp.Diff(live, managedCertificates(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if w := strings.Join(warningsByObject(r)["web"], ""); !strings.Contains(w, "HostedZoneNotFound") || !strings.Contains(w, "www.example.org") {
			t.Errorf("warnings: %s", w)
		}
		r.createZone("example.org", "")
		r.Settle(4 * time.Minute)
		want := []string{"record shop.example.com. 60", "record www.example.org. 60", "shop.example.com,www.example.org 1"}
		if diff := cmp.Diff(want, managedCertificates(r)); diff != "" {
			t.Errorf("once the zone is there (-want +got):\n%s", diff)
		}
	})
}

func TestRecordsCanBeCreatedByAnotherUser(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"ListHostedZones", "ChangeResourceRecordSets"} {
		synctest.Test(t, func(t *testing.T) {
			r := newShopRequestingCertificates(t, time.Minute)
			r.Emulator.Faults().Add(fault.Rule{Service: "route53", Operation: operation, Action: fault.Action{
				Error: &store.Error{Code: "AccessDenied", Status: 403, Message: "User is not authorized to perform: route53:" + operation},
			}})
			other := strings.Replace(webIngress(ingressAnnotations("group.name", "g"), "/other=web"), "name: web\n", "name: other\n", 1)
			r.Apply(shop, readyPods("web", podAddresses[:3]...), other, webIngress(ingressAnnotations("group.name", "g", "create-acm-cert", "true"), "/=web"))
			settleWithoutErrors(t, r)
			if diff := cmp.Diff([]string{"shop.example.com 0"}, managedCertificates(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", operation, diff)
			}
			name, value := store.ValidationRecord(Account, "shop.example.com")
			all := warningsByObject(r)["web"]
			if w := strings.Join(all, ""); !strings.Contains(w, name+" CNAME "+value) || !strings.Contains(w, "CertificatePending") || !strings.Contains(w, operation) || len(all) > 2 {
				t.Errorf("%s: warnings: %q", operation, all)
			}
			if n := r.Emulator.Calls().Count(operation); n > 10 {
				t.Errorf("%s: %d attempts within half an hour", operation, n)
			}
			if attachedAddons(r) == "no load balancer" {
				t.Errorf("%s: the other Ingress is not served", operation)
			}
			w := r.Emulator.Store()
			w.Lock()
			w.Config.ACM.AssumeRecords = true // as if another client had created the record
			w.Unlock()
			settleWithoutErrors(t, r)
			if diff := cmp.Diff([]string{"shop.example.com 1"}, managedCertificates(r)); diff != "" {
				t.Errorf("%s, record created by another client (-want +got):\n%s", operation, diff)
			}
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
				t.Fatal(err)
			}
			settleWithoutErrors(t, r)
			if diff := cmp.Diff([]string(nil), managedCertificates(r)); diff != "" {
				t.Errorf("%s, deleted (-want +got):\n%s", operation, diff)
			}
		})
	}
}

// tryInterruptions calls try for each tenth call, at which it kills the controller, and for each sixth mutating call, whose
// response it loses. In long test runs it does so for all calls.
func tryInterruptions(t *testing.T, calls, mutations int, try func(n int, what string, hook func(*Harness) fault.Hook)) {
	t.Helper()
	for n := 1; n <= calls && !t.Failed(); n += seeds.Step(10) {
		try(n, "killed after call", func(r *Harness) fault.Hook {
			return func(c fault.Call) fault.Action {
				if c.Sequence == n {
					r.Kill()
				}
				return fault.Action{}
			}
		})
	}
	for n := 1; n <= mutations && !t.Failed(); n += seeds.Step(6) {
		try(n, "response lost of mutating call", func(*Harness) fault.Hook {
			return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
		})
	}
}

// TestJustIssuedCertificateIsAwaited checks that no event warns about a certificate that ACM has just issued and that Elastic
// Load Balancing does not know yet, and that the certificate serves soon after it is known.
func TestJustIssuedCertificateIsAwaited(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"CreateListener", "ModifyListener", "AddListenerCertificates"} {
		for _, code := range []string{"CertificateNotFound", "UnsupportedCertificate"} {
			t.Run(operation+"/"+code, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShopRequestingCertificates(t, 5*time.Second)
					refuse := func() { refuseFor(r, operation, code, 15*time.Second) }
					want := "shop.example.com,www.example.com 1"
					if operation == "CreateListener" {
						refuse()
					}
					r.Apply(shop, readyPods("web", podAddresses[:3]...), ingressWithMoreHosts)
					r.Settle(2 * time.Minute)
					if operation != "CreateListener" {
						time.Sleep(10 * time.Minute)
						refuse()
						r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "new.example.com" })
						r.Settle(2 * time.Minute)
						want = "new.example.com,www.example.com 1"
					}
					if got := managedCertificates(r); !slices.Contains(got, want) {
						t.Errorf("want %s in %q", want, got)
					}
					if w := warningsByObject(r)["web"]; len(w) > 0 {
						t.Errorf("warnings: %v", w)
					}
					if n := r.Emulator.Calls().Count(operation); n < 2 {
						t.Errorf("%d calls of %s, so none was refused", n, operation)
					}
				})
			})
		}
	}
}
