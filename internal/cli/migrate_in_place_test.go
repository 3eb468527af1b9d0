package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/migrate"
)

// TestMigrateInPlaceAdoptsLoadBalancer checks that, with --in-place, the Gateway has the annotation that adopts the load
// balancer of the Ingresses. The report names the obstacles that can be found without AWS.
func TestMigrateInPlaceAdoptsLoadBalancer(t *testing.T) {
	t.Parallel()
	plain := strings.ReplaceAll(storefrontYAML, "    alb.ingress.kubernetes.io/waf-acl-id: classic\n", "")
	annotated := func(of string) string {
		return strings.Replace(plain, "    alb.ingress.kubernetes.io/target-type: ip\n", "    alb.ingress.kubernetes.io/target-type: ip\n    "+of+"\n", 1)
	}
	consented := "\n    fulcrum.dev/adopted-by: shop/edge-grp-gw-ec5836f6e2"
	for name, tc := range map[string]struct {
		in    string
		args  []string
		code  int
		shows []string
		lacks []string
	}{
		"alike": {plain, nil, 0, []string{
			"    # fulcrum.dev/adopt: the Gateway takes over the load balancer of IngressGroup edge: Ingresses shop/web; until gateway.k8s.aws/dry-run is removed, the controller changes nothing in AWS for the Gateway\n",
			"    fulcrum.dev/adopt: ingress-group/edge\n", `    gateway.k8s.aws/dry-run: "true"` + "\n",
		}, []string{"not taken over"}},
		"an Ingress by itself": {strings.ReplaceAll(plain, "    alb.ingress.kubernetes.io/group.name: edge\n", ""), nil, 0, []string{"fulcrum.dev/adopt: ingress/shop/web"}, nil},
		"not a shadow":         {plain, []string{"--dry-run=false"}, 0, []string{"fulcrum.dev/adopt: ingress-group/edge"}, []string{"dry-run"}},
		"two namespaces":       {twoTLSIngressesYAML, []string{"--import-tls-secrets=ingress,gateway"}, 0, []string{"fulcrum.dev/adopt: ingress-group/edge"}, []string{"not taken over"}},
		"frontend NLB": {annotated(`alb.ingress.kubernetes.io/enable-frontend-nlb: "true"`), nil, 3,
			[]string{"the load balancer of IngressGroup edge is not taken over: it has a frontend NLB, which a Gateway cannot take over; change the DNS records to the ALB, and then remove the frontend NLB"}, nil},
		"requested certificate": {annotated("alb.ingress.kubernetes.io/create-acm-cert: \"true\"\n    alb.ingress.kubernetes.io/listen-ports: '[{\"HTTPS\":443}]'"), []string{"--feature-gates=EnableCertificateManagement=true"}, 3,
			[]string{"was requested for it and would be deleted with it"}, nil},
		"lost, and not compared": {annotated("alb.ingress.kubernetes.io/wafv2-acl-name: shop"), nil, 3, nil, []string{"the Gateway would answer some requests differently or have different settings"}},
		"it answers otherwise": {annotated(`alb.ingress.kubernetes.io/conditions.web: '[{"field":"query-string","queryStringConfig":{"values":[{"value":"preview"}]}}]'`), nil, 3,
			[]string{"the Gateway would answer some requests differently or have different settings", "annotate each Ingress with fulcrum.dev/adopted-by: shop/edge-grp-gw-ec5836f6e2"}, nil},
		"it answers otherwise, and that is accepted": {annotated(`alb.ingress.kubernetes.io/conditions.web: '[{"field":"query-string","queryStringConfig":{"values":[{"value":"preview"}]}}]'` + consented), nil, 3,
			nil, []string{"the Gateway would answer"}},
		"nothing is translated": {strings.Replace(plain, "group.name: edge", "group.name: EDGE_", 1), nil, 1, []string{"--in-place: no Ingress is translated"}, []string{"kind: Gateway"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := filepath.Join(t.TempDir(), "in.yaml")
			if err := os.WriteFile(in, []byte(tc.in), 0o644); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"migrate", "-f", in, "--in-place", "--output-dir=-"}, tc.args...)
			code, made, report := run(t, args...)
			for _, want := range tc.shows {
				if !strings.Contains(made+report, want) {
					t.Errorf("%q is not shown", want)
				}
			}
			for _, not := range tc.lacks {
				if strings.Contains(made+report, not) {
					t.Errorf("%q is shown", not)
				}
			}
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if t.Failed() {
				t.Log(made, report)
			}
			if _, out, _ := run(t, "migrate", "-f", in, "--in-place", "--check", "-o", "json"); json.Unmarshal([]byte(out), &migrate.Document{}) != nil {
				t.Errorf("no document: %s", out)
			}
		})
	}
}
