package reference

import (
	"bytes"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestShopExampleCanBePlanned checks that the command plan plans the files of examples/shop without a cluster, and finds no
// unsupported backend.
func TestShopExampleCanBePlanned(t *testing.T) {
	em := emulator.New(emulator.Options{})
	seeded, err := harness.Seed(t.Context(), em)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(em.Handler())
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": harness.AccessKey, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
	} {
		t.Setenv(name, value)
	}
	var endpoints []string
	for _, s := range []string{"EC2", "Elastic Load Balancing v2", "ACM", "WAFV2", "WAF Regional", "Shield", "STS", "IAM", "Global Accelerator"} {
		endpoints = append(endpoints, s+"="+server.URL)
	}
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), output.Environment{
		Args: []string{
			"plan", "-f", filepath.Join("..", "..", "..", "examples", "shop"), "--cluster-name=" + harness.ClusterName,
			"--aws-region=" + harness.Region, "--aws-vpc-id=" + seeded.VPC, "--aws-api-endpoints=" + strings.Join(endpoints, ","),
		},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	if code != output.ExitChanges {
		t.Fatal(stderr.String())
	}
	out := stdout.String()
	for _, want := range []string{"+ create load-balancer/LoadBalancer", "+ create listener/80", "# these Services do not exist yet: shop/api, shop/shop;"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "BackendTypeUnsupported") {
		t.Error(out)
	}
}
