package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// disguisedValue is a value that clears a terminal and has a line that looks like the event of a success.
const disguisedValue = "x\u001b[2J\r\nNormal  SuccessfullyReconciled  Successfully reconciled\u202e\u0000"

// ingressWithValues returns Ingress "team/liar". All its annotations for the keys have the same value.
func ingressWithValues(t *testing.T, value string, keys ...string) string {
	t.Helper()
	var b strings.Builder
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		fmt.Fprintf(&b, ", %s%s: %s", annotationPrefix, strings.NewReplacer("<name>", "web", "<protocol>", "HTTP", "<port>", "80").Replace(k), quoted)
	}
	doc := ingressInNamespace("team", "liar", "alb", "team.example.com", "", "group.name", "edge")
	return strings.Replace(doc, "target-type: ip", "target-type: ip"+b.String(), 1)
}

// TestDisguisedValuesAreQuoted checks that annotation values that imitate other messages are quoted in events: no
// event has a control character, and none is longer than 1024 bytes.
func TestDisguisedValuesAreQuoted(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, row := range settings.IngressAnnotations.Rows() {
		if row.Key != "group.name" && row.Key != "target-type" {
			keys = append(keys, row.Key)
		}
	}
	values := map[string]string{
		"text": disguisedValue, "map": "a=" + disguisedValue + ",b", "list": "a, " + disguisedValue, "json": `{"` + disguisedValue + `":`, "long": strings.Repeat(disguisedValue, 100),
	}
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		r.Apply(ingressWithValues(t, "ordinary", "tags"))
		r.Settle(10 * time.Minute)
		for name, value := range values {
			// First set all annotations together, and then only those that do not hold the whole member.
			for _, some := range [][]string{keys, {"tags", "inbound-cidrs", "wafv2-acl-name", "load-balancer-name", "target-group-attributes"}} {
				known := len(r.Store.All("Event"))
				r.Apply(ingressWithValues(t, value, some...))
				r.Settle(10 * time.Minute)
				if len(some) == len(keys) && len(r.Store.All("Event")) == known {
					t.Errorf("%s: no event reports the invalid values", name)
				}
			}
		}
		for _, o := range r.Store.All("Event") {
			e := o.(*corev1.Event)
			for _, text := range []string{e.Message, e.Reason} {
				if strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) || len(text) > 1024 {
					t.Errorf("event about %s: %q", e.InvolvedObject.Name, text)
				}
			}
		}
	})
}

// TestClientSecretsAreNeverShown checks that the OIDC client secret appears in no event, status, tag, condition or
// plan, whether AWS accepts or refuses the rule.
func TestClientSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-shop"
	for name, oidc := range map[string]string{
		"taken":        `{"issuer":"https://idp.example.com","authorizationEndpoint":"https://idp.example.com/a","tokenEndpoint":"https://idp.example.com/t","userInfoEndpoint":"https://idp.example.com/u","secretName":"oidc"}`,
		"refused":      `{"issuer":"not a URL","authorizationEndpoint":"","tokenEndpoint":"","userInfoEndpoint":"","secretName":"oidc"}`,
		"extra params": `{"issuer":"https://idp.example.com","authorizationEndpoint":"https://idp.example.com/a","tokenEndpoint":"https://idp.example.com/t","userInfoEndpoint":"https://idp.example.com/u","secretName":"oidc","authenticationRequestExtraParams":{"a":"b"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[0]), `
apiVersion: v1
kind: Secret
metadata: {name: oidc, namespace: shop}
stringData: {clientID: id-of-shop, clientSecret: `+secret+`}
`)
				doc := webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidc), "/=web")
				r.Apply(doc)
				r.Settle(10 * time.Minute)
				var all []string
				for _, kind := range []cluster.Kind{"Event", cluster.KindIngress, cluster.KindBinding, "ConfigMap", cluster.KindPod} {
					for _, o := range r.Store.All(kind) {
						raw, err := json.Marshal(o)
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, string(raw))
					}
				}
				for _, l := range r.State() {
					if !strings.HasPrefix(l, "rule ") { // only the action of the rule contains the secret
						all = append(all, l)
					}
				}
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"})
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range r.Stacks(obj) {
					d := r.Draft(id)
					all = append(all, d.Plan.Text(), fmt.Sprint(d.Stack), fmt.Sprintf("%+v", d.Plan.Steps))
					if doc := r.Plan(id); doc != nil {
						all = append(all, doc.JSON())
					}
				}
				if i := slices.IndexFunc(all, func(s string) bool { return strings.Contains(s, secret) }); i >= 0 {
					t.Errorf("the secret is shown: %.600s", all[i])
				}
			})
		})
	}
}
