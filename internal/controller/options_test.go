package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// TestWebhookSetsAClassOnlyOfServedServices checks that the webhook does not set the class of the controller on Services if
// the feature gate EnableServiceController is off: no controller would serve them.
func TestWebhookSetsAClassOnlyOfServedServices(t *testing.T) {
	for gates, want := range map[string]string{"": "mine", "EnableServiceController=false": ""} {
		c := config.Default()
		c.Service.Class = "mine"
		if err := c.Gates.Set(gates); err != nil {
			t.Fatal(err)
		}
		if got, err := webhookConfig(c, Frontends(c)); err != nil || got.LoadBalancerClass != want {
			t.Errorf("%q: class %q, %v, want %q", gates, got.LoadBalancerClass, err, want)
		}
	}
}

// TestRuleAndAuthorityFlagsReachOptions checks that --disable-restricted-sg-rules applies to Ingresses, Services and Gateways,
// and that --allowed-certificate-authority-arns applies to plans.
func TestRuleAndAuthorityFlagsReachOptions(t *testing.T) {
	c := config.Default()
	for _, on := range []bool{false, true} {
		c.Security.UnrestrictedRules = on
		for kind, got := range map[string]bool{
			"Ingress": ingressOptions(c).UnrestrictedRules, "Service": serviceOptions(c).UnrestrictedRules, "Gateway": gatewayOptions(c).UnrestrictedRules,
		} {
			if got != on {
				t.Errorf("%s: unrestricted %v, want %v", kind, got, on)
			}
		}
	}
	c.Ingress.CertificateAuthorities = []string{"arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/x"}
	if d := cmp.Diff(c.Ingress.CertificateAuthorities, PlanOptions(c, "vpc-1").AllowedCAs); d != "" {
		t.Error(d)
	}
}

// optionsText returns all options that the controller derives from a configuration.
func optionsText(t *testing.T, c config.Config) string {
	t.Helper()
	hooks, err := webhookConfig(c, Frontends(c))
	if err != nil {
		t.Fatal(err)
	}
	hooks.Ingress = nil // it has no value to compare
	return fmt.Sprintf("%+v", []any{
		ingressOptions(c), serviceOptions(c), gatewayOptions(c), acceleratorOptions(c, nil), PlanOptions(c, c.AWS.VPC), BindingConfig(c, c.AWS.VPC, nil), hooks,
	})
}

// TestEveryFlagReachesOptions checks that each flag changes an option of a frontend, of plans, of bindings or of the webhooks,
// except flags that other code reads.
func TestEveryFlagReachesOptions(t *testing.T) {
	readElsewhere := strings.Fields(`
		kubeconfig kube-ca-pem-filepath aws-vpc-tags aws-vpc-tag-key aws-max-retries aws-api-endpoints aws-api-throttle
		log-level log-format shadow shadow-report profiling-bind-addr metrics-bind-addr health-probe-bind-addr
		webhooks webhook-bind-port webhook-cert-dir webhook-cert-file webhook-key-file webhook-name-prefix
		enable-leader-election leader-election-id leader-election-namespace
		ingress-max-concurrent-reconciles service-max-concurrent-reconciles targetgroupbinding-max-concurrent-reconciles
		alb-gateway-max-concurrent-reconciles nlb-gateway-max-concurrent-reconciles gateway-class-max-concurrent-reconciles
		globalaccelerator-max-concurrent-reconciles globalaccelerator-max-exponential-backoff-delay
		targetgroupbinding-max-exponential-backoff-delay`)
	values := map[string]string{"int": "7", "duration": "77s", "import-tls-secrets": config.GatewaySecrets}
	defaults := config.Default()
	before := optionsText(t, defaults)
	names := pflag.NewFlagSet("", pflag.ContinueOnError)
	defaults.AddFlags(names)
	names.VisitAll(func(f *pflag.Flag) {
		if f.Name == config.GatesFlag {
			return
		}
		value := "a=b" // a text, a list with one item, a map, or a label
		switch {
		case values[f.Name] != "":
			value = values[f.Name]
		case values[f.Value.Type()] != "":
			value = values[f.Value.Type()]
		case f.Value.Type() == "bool":
			value = fmt.Sprint(f.DefValue == "false")
		}
		c := config.Default()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.AddFlags(fs)
		if err := fs.Set(f.Name, value); err != nil {
			t.Fatal(err)
		}
		if changes := optionsText(t, c) != before; changes == slices.Contains(readElsewhere, f.Name) {
			t.Errorf("--%s=%s changes an option: %v", f.Name, value, changes)
		}
	})
}
