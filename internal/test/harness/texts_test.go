package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHostWithoutCertificateIsReportedWithItsField checks that the warning about a host without a certificate names the
// field with the host, and says what happens to the listener.
func TestHostWithoutCertificateIsReportedWithItsField(t *testing.T) {
	t.Parallel()
	https := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`)
	nowhere := func(doc string) string {
		return strings.Replace(doc, "host: shop.example.com", "host: shop.nowhere.test", 1)
	}
	for name, c := range map[string]struct {
		live  bool
		doc   string
		wants string
	}{
		"of a rule": {false, nowhere(webIngress(https, "/=web")),
			`CertificateNotFound: spec.rules[0].host: no issued certificate in ACM covers host "shop.nowhere.test"; the listener of port 443 is not created; request one in ACM, or set the certificate-arn annotation`},
		"of spec.tls": {false, strings.Replace(webIngress(https, "/=web"), "  rules:", "  tls: [{hosts: [a.nowhere.test]}]\n  rules:", 1),
			`CertificateNotFound: spec.tls[0].hosts[0]: no issued certificate in ACM covers host "a.nowhere.test"; the listener of port 443 is not created; request one in ACM, or set the certificate-arn annotation`},
		"of a live listener": {true, nowhere(webIngress(https, "/=web")),
			`CertificateNotFound: spec.rules[0].host: no issued certificate in ACM covers host "shop.nowhere.test"; the listener on port 443 keeps the current certificates of this object; request one in ACM, or set the certificate-arn annotation`},
		"no host at all": {false, strings.Replace(webIngress(https, "/=web"), "  - host: shop.example.com\n    http:", "  - http:", 1),
			`CertificateMissing: certificate-arn: port 443 serves HTTPS, but no certificate is set, and no host for which one could be found; the listener of port 443 is not created; set the certificate-arn annotation, or add a host to the rules`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...))
				if c.live {
					r.Apply(webIngress(https, "/=web"))
					settleWithoutErrors(t, r)
				}
				r.Apply(c.doc)
				r.Settle(5 * time.Minute)
				if got := warningsByObject(r)["web"]; !slices.Contains(got, c.wants) {
					t.Errorf("want %s\ngot %s", c.wants, strings.Join(got, "\n"))
				}
			})
		})
	}
}

// TestRepeatedPathIsReported checks that an event reports the second of two rules of an Ingress with the same host and
// path.
func TestRepeatedPathIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), webIngress("", "/a=web", "/a=api"))
		settleWithoutErrors(t, r)
		want := `RuleUnreachable: spec.rules[0].http.paths[1]: the rule for host "shop.example.com" and path "/a, /a/*" gets no requests; spec.rules[0].http.paths[0] of the same object has the same conditions and comes first; remove one of them, or change its host or path`
		if got := warningsByObject(r)["web"]; !slices.Equal(got, []string{want}) {
			t.Errorf("want %s\ngot %s", want, strings.Join(got, "\n"))
		}
	})
}

// TestRedirectBeforeSamePathIsNotReported checks that there is no warning if the first of two rules with the same path
// is a redirect, as in Ingresses for older controllers.
func TestRedirectBeforeSamePathIsNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		doc := webIngress(ingressAnnotations("listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"],
			"actions.redirect", `{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_301"}}`), "/=redirect", "/=web")
		doc = strings.Replace(doc, "name: redirect, port: {number: 80}", "name: redirect, port: {name: use-annotation}", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), doc)
		settleWithoutErrors(t, r)
		if got := warningsByObject(r)["web"]; len(got) > 0 {
			t.Errorf("warnings: %v", got)
		}
	})
}
