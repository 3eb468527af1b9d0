package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Gate is the name of a feature gate.
type Gate string

// The feature gates. gateTable has their defaults and effects.
const (
	ListenerRulesTagging          Gate = "ListenerRulesTagging"
	WeightedTargetGroups          Gate = "WeightedTargetGroups"
	ServiceTypeLoadBalancerOnly   Gate = "ServiceTypeLoadBalancerOnly"
	EndpointsFailOpen             Gate = "EndpointsFailOpen"
	EnableServiceController       Gate = "EnableServiceController"
	EnableIPTargetType            Gate = "EnableIPTargetType"
	EnableTCPUDPListener          Gate = "EnableTCPUDPListener"
	EnableRGTAPI                  Gate = "EnableRGTAPI"
	SubnetsClusterTagCheck        Gate = "SubnetsClusterTagCheck"
	NLBHealthCheckAdvancedConfig  Gate = "NLBHealthCheckAdvancedConfig"
	NLBSecurityGroup              Gate = "NLBSecurityGroup"
	ALBSingleSubnet               Gate = "ALBSingleSubnet"
	LBCapacityReservation         Gate = "LBCapacityReservation"
	SubnetDiscoveryByReachability Gate = "SubnetDiscoveryByReachability"
	NLBGatewayAPI                 Gate = "NLBGatewayAPI"
	ALBGatewayAPI                 Gate = "ALBGatewayAPI"
	GatewayListenerSet            Gate = "GatewayListenerSet"
	GlobalAcceleratorController   Gate = "GlobalAcceleratorController"
	EnhancedDefaultBehavior       Gate = "EnhancedDefaultBehavior"
	EnableDefaultTagsLowPriority  Gate = "EnableDefaultTagsLowPriority"
	ALBTargetControlAgent         Gate = "ALBTargetControlAgent"
	EnableCertificateManagement   Gate = "EnableCertificateManagement"
	IngressPlanAnnotation         Gate = "IngressPlanAnnotation"
)

// GateRow describes a feature gate.
type GateRow struct {
	Name        Gate
	OnByDefault bool   // whether the feature gate is on if the operator does not set it
	Effect      string // what the controller does if the feature gate is on
}

// gateTable describes all feature gates.
var gateTable = []GateRow{
	{ListenerRulesTagging, true, "tag listeners and rules"},
	{WeightedTargetGroups, true, "permit forward actions with several target groups"},
	{ServiceTypeLoadBalancerOnly, false, "serve only Services of type LoadBalancer"},
	{EndpointsFailOpen, true, "register endpoints whose readiness is unknown"},
	{EnableServiceController, true, "serve Services"},
	{EnableIPTargetType, true, "permit target type ip"},
	{EnableTCPUDPListener, false, "merge a TCP port and a UDP port with the same number into one listener"},
	{EnableRGTAPI, false, "find load balancers and target groups by the Resource Groups Tagging API; needs tag:GetResources"},
	{SubnetsClusterTagCheck, true, "skip subnets that are tagged only for other clusters"},
	{NLBHealthCheckAdvancedConfig, true, "set the health-check matcher and timeout of NLB target groups"},
	{NLBSecurityGroup, true, "create NLBs with security groups"},
	{ALBSingleSubnet, false, "permit ALBs with one subnet"},
	{LBCapacityReservation, true, "manage the capacity reservations of load balancers"},
	{SubnetDiscoveryByReachability, true, "find subnets by their routes if no subnet has a role tag"},
	{NLBGatewayAPI, true, "serve Gateways with NLBs where the Gateway API is installed; if set to true, it must be installed"},
	{ALBGatewayAPI, true, "serve Gateways with ALBs where the Gateway API is installed; if set to true, it must be installed"},
	{GatewayListenerSet, true, "read ListenerSets where they are installed; if set to true, they must be installed"},
	{GlobalAcceleratorController, false, "serve GlobalAccelerators where their CRD is installed and the AWS partition has the service"},
	{EnhancedDefaultBehavior, false, "reset settings whose annotation was removed"},
	{EnableDefaultTagsLowPriority, false, "let tags of annotations take precedence over --default-tags"},
	{ALBTargetControlAgent, false, "inject the target control agent into pods"},
	{EnableCertificateManagement, false, "request certificates from ACM"},
	{IngressPlanAnnotation, false, "show the plan of a load balancer in an annotation of its first Ingress"},
}

// gateAliases maps other names of feature gates, which the documentation of other controllers uses, to the feature gates.
var gateAliases = map[string]Gate{
	"NLBHealthCheckAdvancedConfiguration": NLBHealthCheckAdvancedConfig,
	"EnableTCPUDPListenerType":            EnableTCPUDPListener,
}

// Gates has the feature gates that an operator has set. In the zero value, all feature gates have their defaults. *Gates
// implements pflag.Value.
type Gates struct{ set map[Gate]bool }

// IsEnabled reports whether a feature gate is on.
func (g Gates) IsEnabled(gate Gate) bool {
	if v, ok := g.set[gate]; ok {
		return v
	}
	for _, row := range gateTable {
		if row.Name == gate {
			return row.OnByDefault
		}
	}
	return false
}

// IsSet reports whether the operator has set the feature gate.
func (g Gates) IsSet(gate Gate) bool {
	_, ok := g.set[gate]
	return ok
}

// Set implements pflag.Value. It parses a comma-separated list of NAME=BOOL, and adds it to the feature gates that were set
// before.
func (g *Gates) Set(s string) error {
	next := map[Gate]bool{}
	maps.Copy(next, g.set)
	for _, item := range strings.Split(s, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("feature gate %q: write it as Name=true or Name=false", item)
		}
		name = strings.TrimSpace(name)
		gate := Gate(name)
		if a, ok := gateAliases[name]; ok {
			gate = a
		}
		if !slices.ContainsFunc(gateTable, func(r GateRow) bool { return r.Name == gate }) {
			return fmt.Errorf("feature gate %q is not known; allowed: %s", name, strings.Join(gateNames(), ", "))
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("feature gate %s: %q is neither true nor false", name, value)
		}
		next[gate] = on
	}
	g.set = next
	return nil
}

// gateNames returns the names of all feature gates, in alphabetical order.
func gateNames() (out []string) {
	for _, r := range gateTable {
		out = append(out, string(r.Name))
	}
	slices.Sort(out)
	return out
}

// String implements pflag.Value. It returns the feature gates that were set, ordered by name.
func (g *Gates) String() string {
	var out []string
	for k, v := range g.set {
		out = append(out, string(k)+"="+strconv.FormatBool(v))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// Type implements pflag.Value.
func (*Gates) Type() string { return "mapStringBool" }

// GatesFlag is the name of the flag that sets feature gates.
const GatesFlag = "feature-gates"

// GateRows returns all feature gates, ordered by name.
func GateRows() []GateRow {
	return slices.SortedFunc(slices.Values(gateTable), func(x, y GateRow) int { return cmp.Compare(x.Name, y.Name) })
}

// helpText returns the help text of the flag GatesFlag, with all feature gates.
func (g Gates) helpText() string {
	var b strings.Builder
	b.WriteString("comma-separated list of Name=bool. The gates and their defaults:")
	for _, r := range GateRows() {
		fmt.Fprintf(&b, "\n%s=%t (%s)", r.Name, r.OnByDefault, r.Effect)
	}
	return b.String()
}
