package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func parseFlags(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	c := Default()
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	c.AddFlags(fs)
	err := fs.Parse(args)
	return c, err
}

func TestValidateReturnsTheFirstError(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"fine":                             {[]string{"--cluster-name=c"}, ""},
		"no cluster name":                  {nil, "--cluster-name is not set; set it to the name of the cluster"},
		"the name is first":                {[]string{"--default-target-type=pod"}, "--cluster-name is not set; set it to the name of the cluster"},
		"reserved default tag":             {[]string{"--cluster-name=c", "--default-tags=elbv2.k8s.aws/cluster=x"}, "--default-tags: the key \"elbv2.k8s.aws/cluster\" is reserved for the controller; remove it"},
		"reserved external tag":            {[]string{"--cluster-name=c", "--external-managed-tags=ingress.k8s.aws/stack"}, "--external-managed-tags: the key \"ingress.k8s.aws/stack\" is reserved for the controller; remove it"},
		"a key in both":                    {[]string{"--cluster-name=c", "--default-tags=a=b", "--external-managed-tags=a"}, "the tag key a is in both --default-tags and --external-managed-tags"},
		"target type":                      {[]string{"--cluster-name=c", "--default-target-type=pod"}, `--default-target-type: "pod" is neither instance nor ip`},
		"scheme":                           {[]string{"--cluster-name=c", "--default-load-balancer-scheme=x"}, `--default-load-balancer-scheme: "x" is neither internal nor internet-facing`},
		"backend group":                    {[]string{"--cluster-name=c", "--backend-security-group=x"}, `--backend-security-group: "x" is not the id of a security group`},
		"rules without the security group": {[]string{"--cluster-name=c", "--enable-backend-security-group=false", "--enable-manage-backend-security-group-rules"}, "--enable-manage-backend-security-group-rules needs --enable-backend-security-group"},
		"counts are taken as they are":     {[]string{"--cluster-name=c", "--max-targets-per-target-group=-1", "--ingress-max-concurrent-reconciles=0"}, ""},
		"the label is before our own":      {[]string{"--cluster-name=c", "--required-secrets-label=a", "--targetgroupbinding-deferral-window=0s"}, `--required-secrets-label: "a" is not key=value`},
		"deferral":                         {[]string{"--cluster-name=c", "--targetgroupbinding-deferral-window=0s"}, "--targetgroupbinding-deferral-window: 0s is not above zero"},
		"label":                            {[]string{"--cluster-name=c", "--required-secrets-label=a="}, `--required-secrets-label: "a=" is not key=value`},
		"log level":                        {[]string{"--cluster-name=c", "--log-level=warn"}, `--log-level: "warn" is not known; allowed: info, debug`},
		"log format":                       {[]string{"--cluster-name=c", "--log-format=xml"}, `--log-format: "xml" is not known; allowed: json, text`},
		"webhooks":                         {[]string{"--cluster-name=c", "--webhooks=false"}, `--webhooks: "false" is not known; allowed: on, off`},
		"drift":                            {[]string{"--cluster-name=c", "--drift=fix"}, `--drift: "fix" is not known; allowed: repair, report, off`},
		"metrics off":                      {[]string{"--cluster-name=c", "--metrics-bind-addr=0"}, ""},
		"metrics address":                  {[]string{"--cluster-name=c", "--metrics-bind-addr=8080"}, `--metrics-bind-addr: "8080" is not an address; allowed: HOST:PORT, :PORT, or 0 for none`},
		"webhook port":                     {[]string{"--cluster-name=c", "--webhook-bind-port=0"}, "--webhook-bind-port: 0 is not a port; allowed: 1 to 65535"},
		"endpoint ids":                     {[]string{"--cluster-name=c", "--accelerator-endpoint-ids=i-*,[x"}, `--accelerator-endpoint-ids: "[x" is not a pattern; allowed: ARNs and ids, with * for any text`},
		"accelerators of a namespace":      {[]string{"--cluster-name=c", "--max-accelerators-per-namespace=-1"}, "--max-accelerators-per-namespace: -1 is less than zero"},
		"condition values":                 {[]string{"--cluster-name=c", "--max-condition-values-per-rule=0"}, "--max-condition-values-per-rule: 0 is less than one"},
		"condition wildcards":              {[]string{"--cluster-name=c", "--max-condition-wildcards-per-rule=-1"}, "--max-condition-wildcards-per-rule: -1 is less than one"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := parseFlags(t, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGatesAreParsedFromFlags(t *testing.T) {
	c, err := parseFlags(t, "--feature-gates= WeightedTargetGroups=F ,,EnableTCPUDPListenerType=1", "--feature-gates=ALBSingleSubnet=true")
	if err != nil {
		t.Fatal(err)
	}
	if c.Gates.IsEnabled(WeightedTargetGroups) || !c.Gates.IsEnabled(EnableTCPUDPListener) || !c.Gates.IsEnabled(ALBSingleSubnet) || !c.Gates.IsEnabled(EndpointsFailOpen) {
		t.Errorf("gates: %s", c.Gates.String())
	}
	if !c.Gates.IsSet(WeightedTargetGroups) || c.Gates.IsSet(EndpointsFailOpen) {
		t.Error("explicit and defaulted gates are mixed up")
	}
	for _, bad := range []string{"Unknown=true", "WeightedTargetGroups", "WeightedTargetGroups=maybe"} {
		if _, err := parseFlags(t, "--feature-gates="+bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestUnsupportedSettingsAreListed(t *testing.T) {
	c, err := parseFlags(t, "--enable-waf=false", "--default-pca-arn=", "--load-balancer-class=mine",
		"--feature-gates=EnableTCPUDPListener=true,EnableServiceController=false,GlobalAcceleratorController=true", "--aws-vpc-tag-key=X", "--aws-vpc-tags=a=b")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--aws-vpc-tag-key=X"}
	if d := cmp.Diff(want, c.UnsupportedFlags()); d != "" {
		t.Error(d)
	}
	if c := Default(); len(c.UnsupportedFlags()) > 0 {
		t.Errorf("the defaults are reported as unsupported: %v", c.UnsupportedFlags())
	}
}

// TestFlagsAndDefaults checks the names and defaults of all flags. They include every flag of aws-load-balancer-controller,
// with the same default.
func TestFlagsAndDefaults(t *testing.T) {
	want := map[string]string{
		"cluster-name": "", "log-level": "info", "default-tags": "[]", "external-managed-tags": "[]",
		"default-target-type": "instance", "default-load-balancer-scheme": "internal",
		"default-ssl-policy": "ELBSecurityPolicy-2016-08", "enable-backend-security-group": "true",
		"backend-security-group": "", "enable-manage-backend-security-group-rules": "false",
		"drift": "repair", "log-format": "json", "webhooks": "on", "profiling-bind-addr": "",
		"disable-restricted-sg-rules": "false", "shadow": "false", "shadow-report": "", "service-target-eni-security-group-tags": "[]",
		"enable-endpoint-slices": "true", "max-targets-per-target-group": "0",
		"targetgroupbinding-requeue-duration": "15s", "lb-stabilization-monitor-interval": "2m0s",
		"required-secrets-label": "", "feature-gates": "", "ingress-max-concurrent-reconciles": "3",
		"service-max-concurrent-reconciles": "3", "targetgroupbinding-max-concurrent-reconciles": "3",
		"alb-gateway-max-concurrent-reconciles": "3", "nlb-gateway-max-concurrent-reconciles": "3",
		"gateway-class-max-concurrent-reconciles": "3", "globalaccelerator-max-concurrent-reconciles": "1",
		"targetgroupbinding-max-exponential-backoff-delay": "16m40s",
		"globalaccelerator-max-exponential-backoff-delay":  "16m40s", "ingress-class": "alb",
		"disable-ingress-class-annotation": "false", "disable-ingress-group-name-annotation": "false",
		"tolerate-non-existent-backend-service": "true", "tolerate-non-existent-backend-action": "true",
		"allowed-certificate-authority-arns": "[]", "default-pca-arn": "", "enable-waf": "true",
		"enable-wafv2": "true", "enable-shield": "true", "load-balancer-class": "service.k8s.aws/nlb",
		"cross-namespace-load-balancer-groups": "false",
		"enable-pod-readiness-gate-inject":     "true", "quic-environment-variable-name": "AWS_LBC_QUIC_SERVER_ID",
		"replacement": "create-first", "replacement-deletion-delay": "15m0s",
		"aws-region": "", "aws-vpc-id": "", "aws-vpc-tags": "[]", "aws-vpc-tag-key": "Name", "aws-max-retries": "10",
		"aws-api-endpoints": "[]", "aws-api-throttle": "", "kubeconfig": "", "metrics-bind-addr": ":8080",
		"health-probe-bind-addr": ":61779", "webhook-bind-port": "9443", "webhook-cert-dir": "",
		"webhook-cert-file": "", "webhook-key-file": "", "webhook-name-prefix": "aws-load-balancer", "kube-ca-pem-filepath": "", "enable-leader-election": "true",
		"leader-election-id": "aws-load-balancer-controller-leader", "leader-election-namespace": "",
		"import-tls-secrets": "[]", "watch-namespace": "", "sync-period": "10h0m0s",
		"max-condition-values-per-rule": "5", "max-condition-wildcards-per-rule": "5",
		"ingress-group-tenancy": "cooperative", "max-listeners-per-ingress": "100", "max-rules-per-namespace": "4000", "exact-regex-hosts": "false",
		"strict-groups": "false", "allow-mass-removal": "false", "accelerator-endpoint-ids": "[]", "accelerator-address-namespaces": "[]", "max-accelerators-per-namespace": "0",
		"targetgroupbinding-deferral-window": "30m0s",
	}
	c := Default()
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	c.AddFlags(fs)
	got := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
