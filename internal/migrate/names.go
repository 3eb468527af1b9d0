package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// name returns the name of an object that is made: the beginnings of base and suffix, and a hash of all of it. It is
// the same for each translation of the same objects.
func name(namespace, base, suffix string) string { return nameOf(namespace, base, suffix, "") }

// nameOf returns the name of one of several objects with the same base and suffix, which more distinguishes.
func nameOf(namespace, base, suffix, more string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + base + "/" + suffix + more))
	cut := func(s string) string { return strings.TrimRight(s[:min(len(s), 8)], "-.") }
	return cut(base) + "-" + cut(suffix) + "-" + hex.EncodeToString(sum[:])[:10]
}

// The suffixes of names.
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

// The suffixes of names of what takes the place of a frontend NLB. The port of a route follows its prefix.
const (
	networkSuffix            = "nlb-gateway"
	groupNetworkSuffix       = "grp-nlb"
	networkConfigSuffix      = "nlb-config"
	groupNetworkConfigSuffix = "grp-nlb-lb"
	networkTargetsSuffix     = "nlb-targets"
	networkRoutePrefix       = "nlb"
)

// className is the GatewayClass of all Gateways with an ALB, networkClassName that of those with a network load balancer.
const (
	className        = "aws-alb"
	networkClassName = "aws-nlb"
)
