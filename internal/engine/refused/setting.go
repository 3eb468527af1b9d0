package refused

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// healthCheckSetting returns the setting of a health check that the AWS message words (in lower case) is about, and the
// value of this setting; "" if the message names no setting.
func healthCheckSetting(c model.HealthCheck, words string) (setting, value string) {
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(words, text) })
	}
	switch {
	case has("health check path", "healthcheckpath"):
		return "healthcheck-path", c.Path
	case has("matcher", "http code", "grpc code", "httpcode", "grpccode"):
		return "success-codes", c.HTTPCodes + c.GRPCCodes
	case has("unhealthythresholdcount", "unhealthy threshold"):
		return "unhealthy-threshold-count", number(c.UnhealthyThreshold)
	case has("healthythresholdcount", "healthy threshold"):
		return "healthy-threshold-count", number(c.HealthyThreshold)
	case has("healthchecktimeoutseconds", "health check timeout"):
		return "healthcheck-timeout-seconds", number(c.TimeoutSeconds)
	case has("healthcheckintervalseconds", "health check interval"):
		return "healthcheck-interval-seconds", number(c.IntervalSeconds)
	case has("healthcheckport", "health check port"):
		return "healthcheck-port", c.Port
	case has("healthcheckprotocol", "health check protocol"):
		return "healthcheck-protocol", c.Protocol
	}
	return "", ""
}

// attributesSetting returns the setting that contains the attributes of a resource. prefix is "frontend-nlb-" for a frontend
// NLB, and otherwise empty.
func attributesSetting(of plan.Address, prefix string) string {
	switch {
	case prefix != "":
		return prefix + "attributes"
	case of.Kind == plan.TargetGroup:
		return "target-group-attributes"
	case of.Kind == plan.Listener:
		return "listener-attributes" // the annotation also has the protocol and port, which the AWS message does not contain
	}
	return "load-balancer-attributes"
}

// AcceleratorSetting returns the setting of a new accelerator that the AWS message words (in lower case) is about; "" if the
// message names no setting.
func AcceleratorSetting(words string) string {
	words = withoutQuotes(words)
	switch {
	case strings.Contains(words, "tag"):
		return "tags"
	case strings.Contains(words, "address type"), strings.Contains(words, "ipaddresstype"):
		return "address-type"
	case strings.Contains(words, "ip address"), strings.Contains(words, "ipaddresses"):
		return "addresses"
	case strings.Contains(words, "name"):
		return "name"
	}
	return ""
}

// withoutQuotes returns an AWS message without the quoted values in it. The name of a setting may be a part of a value, such
// as "tag" of the load balancer name "staging".
func withoutQuotes(message string) string { return quotedText.ReplaceAllString(message, "") }

// loadBalancerSetting returns the setting of a new load balancer that an AWS message (in lower case) is about, and its value
// if the step contains it. prefix is "frontend-nlb-" for a frontend NLB, and otherwise empty.
func loadBalancerSetting(do plan.CreateLoadBalancer, prefix, message string) (setting, value string) {
	words := withoutQuotes(message)
	switch {
	case strings.Contains(words, "tag"):
		return prefix + "tags", entryInMessage(do.Tags, message)
	case strings.Contains(words, "security group"):
		return prefix + "security-groups", ""
	case strings.Contains(words, "allocation") || strings.Contains(words, "elastic ip"):
		return prefix + "eip-allocations", ""
	case strings.Contains(words, "subnet") || strings.Contains(words, "availability zone"):
		return prefix + "subnets", ""
	case strings.Contains(words, "pool"):
		return "customer-owned-ipv4-pool", do.CoIPPool
	case strings.Contains(words, "name"):
		return "load-balancer-name", do.Name
	}
	return "", ""
}

// sourcesSetting returns the setting that contains the source that the step adds to a managed security group, and the
// source. It returns "" if the step does not add exactly one source.
func sourcesSetting(do plan.ChangeIngress) (setting, value string) {
	if len(do.Authorize) != 1 {
		return "", ""
	}
	if list := do.Authorize[0].PrefixList; list != "" {
		return "security-group-prefix-lists", list
	}
	return "inbound-cidrs", do.Authorize[0].CIDR
}

// DefaultBackend is the field of an Ingress that sets the default action of an HTTP listener.
const DefaultBackend = "spec.defaultBackend"

// listenerSetting returns the setting of a listener that an AWS error is about, and its value if the step contains it. code
// is the AWS error code, and words the message in lower case.
func listenerSetting(l plan.ListenerSettings, code, words string, tags plan.Tags) (setting, value string) {
	switch {
	case code == "SSLPolicyNotFound":
		return "ssl-policy", l.Policy
	case code == "CertificateNotFound" || code == "UnsupportedCertificate" || strings.Contains(words, "certificate arn"):
		return "certificate-arn", l.Certificate
	case strings.HasPrefix(code, "TrustStore"):
		store := ""
		if l.MutualAuth != nil {
			store = l.MutualAuth.TrustStore
		}
		return "mutual-authentication", store
	case strings.Contains(words, "tags."):
		return "tags", entryInMessage(tags, words)
	case strings.HasPrefix(l.Protocol, "HTTP") && (strings.Contains(words, "defaultactions.") || code == "InvalidLoadBalancerAction"):
		return DefaultBackend, ""
	}
	return "", ""
}

// EffectText returns the effect of a step that AWS refused, for messages about it. opens reports whether a new listener is
// not created because of the refusal.
func EffectText(kind model.Kind, s plan.Step, opens bool) string {
	switch do := s.Do.(type) {
	case plan.CreateTargetGroup:
		if !kind.HasRules() {
			return "its listeners stay unchanged, or are not created"
		}
		return "its rules are held: requests that no existing rule serves get 503"
	case plan.CreateLoadBalancer:
		return "the load balancer is not created with this value"
	case plan.CreateListener:
		return "port " + strconv.Itoa(int(do.Settings.Port)) + " is not opened with this value"
	case plan.SetWebACL, plan.SetClassicACL:
		if opens {
			return "the load balancer is not opened, because it would serve without protection"
		}
		return "the load balancer keeps the web ACL that it has"
	case plan.ChangeIngress:
		return "the sources that are admitted already stay, and the other new sources are added"
	case plan.SetTags:
		return "the other tags are set"
	case plan.SetHealthCheck:
		return "the health check stays unchanged"
	case plan.SetAttributes:
		return "the attribute stays unchanged in AWS, and the others are set"
	}
	return "what exists in AWS stays unchanged"
}

// IsNeededByNewListener reports whether the plan creates a listener that depends on the step with this ID.
func IsNeededByNewListener(p plan.Plan, id plan.StepID) bool {
	for _, s := range p.Steps {
		if _, ok := s.Do.(plan.CreateListener); !ok {
			continue
		}
		if slices.Contains(s.After, id) {
			return true
		}
	}
	return false
}
