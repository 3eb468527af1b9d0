package config

import (
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Validate returns the first error of the configuration. The order of the checks is fixed.
func (c Config) Validate() error {
	if c.ClusterName == "" {
		return fmt.Errorf("--cluster-name is not set; set it to the name of the cluster")
	}
	for _, k := range slices.Sorted(maps.Keys(c.Defaults.Tags)) {
		if naming.IsReservedTag(k) {
			return fmt.Errorf("--default-tags: the key %q is reserved for the controller; remove it", k)
		}
	}
	for _, k := range c.Defaults.ExternalManagedTags {
		if naming.IsReservedTag(k) {
			return fmt.Errorf("--external-managed-tags: the key %q is reserved for the controller; remove it", k)
		}
	}
	for _, k := range c.Defaults.ExternalManagedTags {
		if _, both := c.Defaults.Tags[k]; both {
			return fmt.Errorf("the tag key %s is in both --default-tags and --external-managed-tags", k)
		}
	}
	if t := c.Defaults.TargetType; t != "instance" && t != "ip" {
		return fmt.Errorf("--default-target-type: %q is neither instance nor ip", t)
	}
	if s := c.Defaults.Scheme; s != "internal" && s != "internet-facing" {
		return fmt.Errorf("--default-load-balancer-scheme: %q is neither internal nor internet-facing", s)
	}
	if id := c.Security.BackendSecurityGroupID; id != "" && !strings.HasPrefix(id, "sg-") {
		return fmt.Errorf("--backend-security-group: %q is not the id of a security group", id)
	}
	if c.Security.ManageBackendRules && !c.Security.BackendSecurityGroup {
		return fmt.Errorf("--enable-manage-backend-security-group-rules needs --enable-backend-security-group")
	}
	if l := c.Kubernetes.RequiredSecretsLabel; l != "" {
		if _, _, ok := c.SecretsLabel(); !ok {
			return fmt.Errorf("--required-secrets-label: %q is not key=value", l)
		}
	}
	// aws-load-balancer-controller does not make the following checks.
	if c.Shadow.ReportFile != "" && !c.Shadow.Enabled {
		return fmt.Errorf("--shadow-report %q requires --shadow; set --shadow, or remove --shadow-report", c.Shadow.ReportFile)
	}
	for _, x := range []struct {
		flag, value string
		allowed     []string
	}{
		{"log-level", c.LogLevel, []string{InfoLevel, DebugLevel}},
		{"log-format", c.LogFormat, []string{JSONFormat, TextFormat}},
		{"webhooks", c.Serving.Webhooks, []string{WebhooksOn, WebhooksOff}},
		{"drift", c.Drift, []string{DriftRepair, DriftReport, DriftOff}},
	} {
		if !slices.Contains(x.allowed, x.value) {
			return fmt.Errorf("--%s: %q is not known; allowed: %s", x.flag, x.value, strings.Join(x.allowed, ", "))
		}
	}
	if err := c.Serving.validate(); err != nil {
		return err
	}
	if s := c.Ingress.Tenancy; s != "cooperative" && s != "isolated" {
		return fmt.Errorf("--ingress-group-tenancy: %q is neither cooperative nor isolated", s)
	}
	for _, pattern := range c.Accelerators.EndpointIDs {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("--accelerator-endpoint-ids: %q is not a pattern; allowed: ARNs and ids, with * for any text", pattern)
		}
	}
	if n := c.Accelerators.MaxPerNamespace; n < 0 {
		return fmt.Errorf("--max-accelerators-per-namespace: %d is less than zero", n)
	}
	for _, kind := range c.ImportTLSSecrets {
		if kind != IngressSecrets && kind != GatewaySecrets {
			return fmt.Errorf("--import-tls-secrets: %q is neither ingress nor gateway", kind)
		}
	}
	for _, x := range []struct {
		flag  string
		value int
	}{
		{"max-listeners-per-ingress", c.Ingress.MaxListeners}, {"max-rules-per-namespace", c.Ingress.MaxRules},
		{"max-condition-values-per-rule", c.Ingress.ConditionValues}, {"max-condition-wildcards-per-rule", c.Ingress.ConditionWildcards},
	} {
		if x.value < 1 {
			return fmt.Errorf("--%s: %d is less than one", x.flag, x.value)
		}
	}
	if o := c.Replacement.Order; o != CreateFirst && o != DeleteFirst {
		return fmt.Errorf("--replacement: %q is neither create-first nor delete-first", o)
	}
	if d := c.Replacement.DeletionDelay; d < 0 {
		return fmt.Errorf("--replacement-deletion-delay: %s is below zero", d)
	}
	if d := c.Targets.ComparisonDeferral; d <= 0 {
		return fmt.Errorf("--targetgroupbinding-deferral-window: %s is not above zero", d)
	}
	return nil
}

// SecretsLabel returns the label that Secrets must have. It returns false if no label is required, or if the setting is
// invalid.
func (c Config) SecretsLabel() (key, value string, ok bool) {
	key, value, ok = strings.Cut(c.Kubernetes.RequiredSecretsLabel, "=")
	return key, value, ok && key != "" && value != ""
}

// validate returns the first error of the addresses and ports on which the process listens.
func (s Serving) validate() error {
	for _, x := range []struct{ flag, value string }{
		{"metrics-bind-addr", s.Metrics}, {"health-probe-bind-addr", s.Probes}, {"profiling-bind-addr", s.Profiling},
	} {
		if x.value == "" || x.value == "0" {
			continue
		}
		_, port, err := net.SplitHostPort(x.value)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
			return fmt.Errorf("--%s: %q is not an address; allowed: HOST:PORT, :PORT, or 0 for none", x.flag, x.value)
		}
	}
	if p := s.WebhookPort; p < 1 || p > 65535 {
		return fmt.Errorf("--webhook-bind-port: %d is not a port; allowed: 1 to 65535", p)
	}
	return nil
}
