package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

const classAndServices = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web0}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web1}
spec: {ports: [{port: 80}]}
`

// ingressManifest returns the manifest of an Ingress with annotations and paths.
func ingressManifest(name string, annotations, paths []string) string {
	return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: shop
  name: %s
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    %s
spec:
  ingressClassName: alb
  rules:
  - host: a.example.com
    http:
      paths:
      - %s
`, name, strings.Join(annotations, "\n    "), strings.Join(paths, "\n      - "))
}

// translateCompletely translates Ingresses and returns the number of HTTPRoutes. It checks that the routes are within the
// limits of the API server, that no setting is lost, and that the Gateways do not differ from the Ingresses. An HTTPRoute
// has at most 16 rules with 64 matches each, and 128 matches in total.
// https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec
func translateCompletely(t *testing.T, manifests string) (routes int) {
	t.Helper()
	store := enginetest.LoadObjects(t, classAndServices+manifests)
	opt := defaultOptions(assemble.Options{}, "alb")
	r, err := migrate.Translate(store, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Objects() {
		route, ok := o.Object.(*gwv1.HTTPRoute)
		if !ok {
			continue
		}
		routes++
		matches := 0
		for _, rule := range route.Spec.Rules {
			if matches += len(rule.Matches); len(rule.Matches) > 64 {
				t.Errorf("a rule of %s has %d matches", route.Name, len(rule.Matches))
			}
		}
		if len(route.Spec.Rules) > 16 || matches > 128 {
			t.Errorf("route %s has %d rules with %d matches", route.Name, len(route.Spec.Rules), matches)
		}
	}
	if got := differences(t, store, r, opt); got != "" {
		t.Error(got)
	}
	for _, g := range r.IngressGroups {
		if g.WorstSeverity() == migrate.Lost {
			t.Error(g.Notes)
		}
	}
	return routes
}

// TestManyPathsFitRoutes checks that many paths are split into several routes, each within the limits of the API server.
func TestManyPathsFitRoutes(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 300 {
		paths = append(paths, fmt.Sprintf("{path: /p%d, pathType: Prefix, backend: {service: {name: web%d, port: {number: 80}}}}", i, i%2))
	}
	if n := translateCompletely(t, ingressManifest("many", nil, paths)); n < 3 {
		t.Errorf("%d routes", n)
	}
}

// TestManyRulesKeepTheirOrder checks that more rules than fit into one route are split into several routes, and that they
// keep their order where it decides the answer. Rules with the same answer must not be joined if that changes the order, and
// the names of the routes must sort in the order of the rules.
func TestManyRulesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for _, answers := range []int{2, 24} {
		var manifests strings.Builder
		for _, name := range strings.Split("abcdefgh", "") {
			var annotations, paths []string
			for i := range 24 {
				annotations = append(annotations,
					fmt.Sprintf(`alb.ingress.kubernetes.io/actions.r%d: '{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"%d"}}'`, i, (i/2+i)%answers),
					fmt.Sprintf(`alb.ingress.kubernetes.io/conditions.r%d: '[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"h%d","values":["%d"]}}]'`, i, i%2, i/2))
				paths = append(paths, fmt.Sprintf("{path: /, pathType: Prefix, backend: {service: {name: r%d, port: {name: use-annotation}}}}", i))
			}
			manifests.WriteString(ingressManifest(name, annotations, paths))
		}
		if n := translateCompletely(t, manifests.String()); n < 8 {
			t.Errorf("%d routes", n)
		}
	}
}

// TestValuesThatRoutesCannotHaveAreReported checks that a value that the API server would refuse in an HTTPRoute or
// ListenerRuleConfiguration is reported, and that the route with the other rules does not contain it.
func TestValuesThatRoutesCannotHaveAreReported(t *testing.T) {
	t.Parallel()
	redirect := func(config string) string {
		return fmt.Sprintf(`alb.ingress.kubernetes.io/actions.web0: '{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301",%s}}'`, config)
	}
	answer := func(config string) string {
		return fmt.Sprintf(`alb.ingress.kubernetes.io/actions.web0: '{"type":"fixed-response","fixedResponseConfig":{%s}}'`, config)
	}
	condition := func(config string) string {
		return fmt.Sprintf(`alb.ingress.kubernetes.io/conditions.web0: '[%s]'`, config)
	}
	for _, tc := range []struct{ annotation, port, invalid, note string }{
		{redirect(`"host":"Shop.example.com"`), "use-annotation", "Shop.example.com", `host "Shop.example.com" of the redirect is not valid`},
		{redirect(`"port":"0"`), "use-annotation", "port: 0", `port "0" of the redirect is not a number from 1 to 65535`},
		{redirect(`"port":"65536"`), "use-annotation", "65536", `port "65536" of the redirect`},
		{redirect(`"protocol":"FTP"`), "use-annotation", "ftp", `protocol "FTP" of the redirect`},
		{answer(`"statusCode":"302"`), "use-annotation", "statusCode: 302", `status "302" of a fixed response`},
		{answer(`"statusCode":"200","contentType":"image/png"`), "use-annotation", "image/png", `content type "image/png"`},
		{condition(`{"field":"query-string","queryStringConfig":{"values":[{"key":"filter[x]","value":"1"}]}}`), "", "filter[x]", `the name of query parameter "filter[x]" is not valid`},
		{condition(`{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"x y","values":["1"]}}`), "", "x y", `header "x y"`},
		{condition(`{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"x-a","values":[""]}}`), "", "x-a", `header "x-a" with the value ""`},
		{`alb.ingress.kubernetes.io/transforms.web0: '[{"type":"host-header-rewrite","hostHeaderRewriteConfig":{"rewrites":[{"regex":".*","replace":"a_b"}]}}]'`, "", "hostname: a_b", "cannot be expressed in a route"},
	} {
		port := "{number: 80}"
		if tc.port != "" {
			port = "{name: " + tc.port + "}"
		}
		store := enginetest.LoadObjects(t, classAndServices+ingressManifest("web", []string{tc.annotation}, []string{
			"{path: /a, pathType: Prefix, backend: {service: {name: web0, port: " + port + "}}}", "{path: /b, pathType: Prefix, backend: {service: {name: web1, port: {number: 80}}}}",
		}))
		result, err := migrate.Translate(store, defaultOptions(assemble.Options{}, "alb"))
		if err != nil || len(result.IngressGroups) != 1 {
			t.Fatalf("%s: %d load balancers, %v", tc.annotation, len(result.IngressGroups), err)
		}
		var made strings.Builder
		if err := migrate.WriteYAML(&made, result.Objects()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(made.String(), tc.invalid) || !strings.Contains(made.String(), "name: web1") {
			t.Errorf("%s:\n%s", tc.annotation, made.String())
		}
		if notes := fmt.Sprint(result.IngressGroups[0].Notes); !strings.Contains(notes, tc.note) {
			t.Errorf("%s: no note with %q in %s", tc.annotation, tc.note, notes)
		}
	}
}
