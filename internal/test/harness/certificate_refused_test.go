package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
)

// importCertificate imports a new self-signed certificate for host into ACM and returns its ARN.
func importCertificate(r *Harness, host string) string {
	r.T.Helper()
	cert, key, err := selfSigned(host)
	if err != nil {
		r.T.Fatal(err)
	}
	out, err := acm.NewFromConfig(AWSConfig(r.Emulator)).ImportCertificate(r.T.Context(), &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key})
	if err != nil {
		r.T.Fatal(err)
	}
	return *out.CertificateArn
}

// attachedCertificates returns the ARNs of the certificates of all listeners.
func attachedCertificates(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, l := range w.Partition(Account, Region).ELB.Listeners {
		out = append(append(out, l.SNI...), l.Certificate)
	}
	return out
}

func memberWithCertificates(namespace, name, order, host string, arns ...string) string {
	return ingressInNamespace(namespace, name, "alb", host, "", "group.name", "edge", "group.order", order, "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", strings.Join(arns, ","))
}

// TestCertificateIsRemovedAtCertificateQuota checks a load balancer whose quota is used up because a member with a
// higher priority names too many certificates. A certificate that its member no longer names is removed, since its key
// may be compromised. A certificate that its member replaces is kept until AWS accepts the new one.
func TestCertificateIsRemovedAtCertificateQuota(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprint("replaced ", replaced), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				setQuota(r, "certificates-per-application-load-balancer", 4)
				first, old, successor := importCertificate(r, "first.example.org"), importCertificate(r, "victim.example.org"), importCertificate(r, "victim.example.org")
				var theirs []string
				for i := range 6 {
					theirs = append(theirs, importCertificate(r, fmt.Sprintf("t%d.example.org", i)))
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), neighbourNamespace, memberWithCertificates("shop", "other", "1", "first.example.org", first))
				settleWithoutErrors(t, r)
				r.Apply(memberWithCertificates("shop", "victim", "10", "victim.example.org", old))
				settleWithoutErrors(t, r)
				r.Apply(memberWithCertificates("team", "front", "-1000", "team.example.org", theirs...))
				r.Settle(time.Hour)
				if !slices.Contains(attachedCertificates(r), old) || slices.Contains(attachedCertificates(r), theirs[5]) {
					t.Fatalf("attached are %s", attachedCertificates(r))
				}
				next := first
				if replaced {
					next = successor
				}
				r.Apply(memberWithCertificates("shop", "victim", "10", "victim.example.org", next))
				r.Settle(time.Minute)
				for range 2 {
					if got := attachedCertificates(r); !slices.Contains(got, first) || slices.Contains(got, old) != (replaced && !slices.Contains(got, successor)) {
						t.Errorf("old %s and successor %s; attached are %s", old, successor, got)
					}
					r.Settle(time.Hour)
				}
			})
		})
	}
}
