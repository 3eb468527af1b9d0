package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// objectName returns the name of a generated object: the first eight characters of base and of suffix, and a hash of all
// arguments. Each translation of the same objects generates the same names.
func objectName(namespace, base, suffix string) string {
	return distinctObjectName(namespace, base, suffix, "")
}

// distinctObjectName returns the name of one of several generated objects with the same namespace, base and suffix. more is
// a text that differs for each of these objects. It is only part of the hash.
func distinctObjectName(namespace, base, suffix, more string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + base + "/" + suffix + more))
	cut := func(s string) string { return strings.TrimRight(s[:min(len(s), 8)], "-.") }
	return cut(base) + "-" + cut(suffix) + "-" + hex.EncodeToString(sum[:])[:10]
}

// The suffixes of the names of generated objects.
const (
	gatewaySuffix      = "gateway"
	groupGatewaySuffix = "grp-gw"
	configSuffix       = "lb-config"
	groupConfigSuffix  = "grp-lb"
	routeSuffix        = "route"
	defaultRouteSuffix = "default-route"
	redirectSuffix     = "redirect"
	targetsSuffix      = "tg-config"
	ruleConfigSuffix   = "lr-config"
	grantSuffix        = "secrets"
)

// The suffixes of the names of generated objects that replace a frontend NLB. The suffix of a TCPRoute is networkRoutePrefix
// followed by the port.
const (
	networkSuffix            = "nlb-gateway"
	groupNetworkSuffix       = "grp-nlb"
	networkConfigSuffix      = "nlb-config"
	groupNetworkConfigSuffix = "grp-nlb-lb"
	networkTargetsSuffix     = "nlb-targets"
	networkRoutePrefix       = "nlb"
)

// albClassName is the name of the GatewayClass of Gateways with an ALB. networkClassName is the name of the GatewayClass of
// Gateways with a network load balancer.
const (
	albClassName     = "aws-alb"
	networkClassName = "aws-nlb"
)
