package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// teamMemberWithHTTPS returns YAML of Ingress "shop/m<n>", a member of IngressGroup "team". certificate is the ARN of
// its certificate, and path is the path of its rule.
func teamMemberWithHTTPS(n int, certificate, path string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: m%[1]d
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/group.name: team
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/certificate-arn: %[2]s
spec:
  ingressClassName: alb
  rules:
  - host: shop.example.com
    http: {paths: [{path: %[3]s, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`, n, certificate, path)
}

// warningsByObject returns the messages of all events of type "Warning", by the name of the object.
func warningsByObject(r *Harness) map[string][]string {
	out := map[string][]string{}
	for _, o := range r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
			out[e.InvolvedObject.Name] = append(out[e.InvolvedObject.Name], e.Message)
		}
	}
	return out
}

// hasRule reports whether state, a result of State, has a rule with the given path pattern that forwards to a target
// group of namespace "shop".
func hasRule(state []string, path string) bool {
	return slices.ContainsFunc(state, func(l string) bool {
		return strings.HasPrefix(l, "rule ") && strings.Contains(l, `"`+path+`"`) && strings.Contains(l, "tg:k8s-shop")
	})
}

// TestMissingCertificateHoldsOnlyItsMember checks that a member of an IngressGroup that names a missing certificate
// does not get its new rule, and that only this member has warnings. The new rules of the other members are created.
func TestMissingCertificateHoldsOnlyItsMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		good := r.Seeded.Certs["example.com"]
		missing := strings.Replace(good, good[len(good)-12:], "000000000000", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		for n := range 10 {
			r.Apply(teamMemberWithHTTPS(n, good, fmt.Sprintf("/p%d", n)))
		}
		if failed := r.Settle(20 * time.Minute); len(failed) > 0 {
			t.Fatal(failed)
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Fatalf("warnings before anything is wrong: %v", w)
		}
		// All members change their paths. The tenth member also names a certificate that does not exist.
		for n := range 10 {
			c := good
			if n == 9 {
				c = missing
			}
			r.Apply(teamMemberWithHTTPS(n, c, fmt.Sprintf("/q%d", n)))
		}
		r.Settle(20 * time.Minute)
		state := r.State()
		for n := range 9 {
			if !hasRule(state, fmt.Sprintf("/q%d", n)) {
				t.Errorf("member %d is not served on its new path", n)
			}
		}
		w := warningsByObject(r)
		if len(w) != 1 || len(w["m9"]) == 0 {
			t.Errorf("want warnings on m9 alone, got %v", w)
		}
		for _, m := range w["m9"] {
			if !strings.Contains(m, "CertificateNotFound") || !strings.Contains(m, missing) || !strings.Contains(m, "correct the ARN") {
				t.Errorf("the event does not say what is wrong and what to do: %s", m)
			}
		}
		if hasRule(state, "/q9") {
			t.Errorf("m9 is served on its new path without its certificate")
		}
	})
}

// TestMemberWithInvalidCertificateKeepsItsRule checks that AWS is not changed if the only change of a member is that it
// names a certificate that does not exist.
func TestMemberWithInvalidCertificateKeepsItsRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		good := r.Seeded.Certs["example.com"]
		missing := strings.Replace(good, good[len(good)-12:], "000000000000", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), teamMemberWithHTTPS(1, good, "/p1"), teamMemberWithHTTPS(2, good, "/p2"))
		r.Settle(20 * time.Minute)
		before := r.State()
		r.Emulator.Calls().Reset()
		r.Apply(teamMemberWithHTTPS(2, missing, "/p2"))
		r.Settle(20 * time.Minute)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
		if !slices.Equal(before, r.State()) {
			t.Errorf("the state of AWS changed")
		}
	})
}
