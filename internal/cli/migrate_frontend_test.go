package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/migrate"
)

// TestMigrateTranslatesAFrontendNLB checks that migrate translates a frontend NLB to a second Gateway, which the report
// names. If the feature gate NLBGatewayAPI is off, the report has a note that the frontend NLB is not translated.
func TestMigrateTranslatesAFrontendNLB(t *testing.T) {
	t.Parallel()
	const annotations = `    alb.ingress.kubernetes.io/enable-frontend-nlb: "true"
    alb.ingress.kubernetes.io/frontend-nlb-scheme: internal
`
	in := filepath.Join(t.TempDir(), "in.yaml")
	if err := os.WriteFile(in, []byte(strings.ReplaceAll(storefrontYAML, "    alb.ingress.kubernetes.io/waf-acl-id: classic\n", annotations)), 0o644); err != nil {
		t.Fatal(err)
	}
	migrated := func(want int, says []string, args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, append([]string{"migrate", "-f", in}, args...)...)
		for _, s := range says {
			if !strings.Contains(stdout+stderr, s) {
				t.Errorf("fulcrum migrate %s lacks %q", strings.Join(args, " "), s)
			}
		}
		if code != want || t.Failed() {
			t.Errorf("fulcrum migrate %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
		}
		return stdout
	}
	const gateway, frontend = "shop/edge-grp-gw-ec5836f6e2", "shop/edge-grp-nlb-0bedd35c66"
	migrated(0, []string{
		"# IngressGroup edge (shop/web) -> Gateway " + gateway + ", behind Gateway " + frontend + "\n", "4 of 4 annotations have a counterpart", "their answers and the settings are the same",
		"Gateway " + frontend + ": this Gateway replaces the frontend NLB and forwards to the ALB of Gateway " + gateway,
	}, "--check")
	manifests, gateways := migrated(0, nil, "--output-dir=-"), 0
	for _, part := range strings.Split(manifests, "---\n") {
		if !strings.Contains(part, "\nkind: Gateway\n") {
			continue
		}
		gateways++
		if !strings.Contains(part, `gateway.k8s.aws/dry-run: "true"`) {
			t.Errorf("a Gateway is not only planned:\n%s", part)
		}
	}
	if gateways != 2 {
		t.Errorf("the manifests have %d Gateways", gateways)
	}
	migrated(0, []string{"| Ingress shop/web | alb.ingress.kubernetes.io/frontend-nlb-scheme | LoadBalancerConfiguration of class aws-nlb spec.scheme |"}, "--check", "-o", "markdown")
	var doc migrate.Document
	if err := json.Unmarshal([]byte(migrated(0, nil, "--check", "-o", "json")), &doc); err != nil || len(doc.IngressGroups) != 1 || doc.IngressGroups[0].FrontendGateway != frontend {
		t.Errorf("%v %+v", err, doc)
	}
	migrated(3, []string{"feature gate NLBGatewayAPI is disabled", "frontend NLB: Ingress exists, Gateway none", "2 of 4 annotations have a counterpart"},
		"--feature-gates=NLBGatewayAPI=false", "--output-dir="+t.TempDir())
	migrated(3, []string{"a Gateway does not take over a frontend NLB; remove the frontend NLB first, or translate without --in-place"}, "--in-place", "--output-dir="+t.TempDir())
}
