package settings

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// webACL reads the older spelling. Keys are read in ascending order, so that the newer one, which
// wins, has been read before.
func webACL(in *Ingress, _, raw string, from finding.Origin) error {
	if !in.WAFClassic.Present() {
		in.WAFClassic = Of(raw, from)
	}
	return nil
}

// frontendKey notes that an annotation of the frontend load balancer is there. Its value is not
// read before it can be built.
func frontendKey(in *Ingress, _, _ string, from finding.Origin) error {
	in.FrontendKeys = append(in.FrontendKeys, strings.TrimPrefix(from.Field, Prefix))
	return nil
}

func frontendRows() []row {
	const group = "Network load balancer in front"
	rows := []row{{Row: Row{Group: group, Key: "enable-frontend-nlb", Type: "bool", Default: "false", Merge: mergeOne, Planned: true,
		Doc: "Puts a network load balancer in front of the application load balancer."},
		read: field(Bool, func(in *Ingress) *Opt[bool] { return &in.FrontendNLB })}}
	for _, r := range []Row{
		{Key: "scheme", Type: "internal, internet-facing", Default: "--default-load-balancer-scheme", Merge: mergeOne, Doc: "Scheme."},
		{Key: "subnets", Type: "list", Default: "discovery", Merge: mergeOne, Doc: "Subnets by id or Name tag."},
		{Key: "security-groups", Type: "list", Default: "those of the application load balancer", Merge: mergeOne, Doc: "Security groups by id or Name tag."},
		{Key: "listener-port-mapping", Type: "map", Default: "the same ports", Merge: mergePort, Doc: "Port of the network load balancer = port of the application load balancer."},
		{Key: "eip-allocations", Type: "list", Merge: mergeOne, Doc: "Elastic addresses, one per subnet."},
		{Key: "healthcheck-port", Type: "int or traffic-port", Default: "traffic-port", Merge: mergePort, Doc: "Port of the check."},
		{Key: "healthcheck-protocol", Type: "HTTP, HTTPS", Default: "HTTP", Merge: mergePort, Doc: "Protocol of the check."},
		{Key: "healthcheck-path", Type: "string", Default: "/", Merge: mergePort, Doc: "Path of the check."},
		{Key: "healthcheck-interval-seconds", Type: "int", Default: "15", Merge: mergePort, Doc: "Time between checks."},
		{Key: "healthcheck-timeout-seconds", Type: "int", Default: "5", Merge: mergePort, Doc: "Time after which a check has failed."},
		{Key: "healthcheck-healthy-threshold-count", Type: "int", Default: "2", Merge: mergePort, Doc: "Checks that must succeed in a row."},
		{Key: "healthcheck-unhealthy-threshold-count", Type: "int", Default: "2", Merge: mergePort, Doc: "Checks that must fail in a row."},
		{Key: "healthcheck-success-codes", Type: "string", Default: "200", Merge: mergePort, Doc: "Codes that mean success."},
		{Key: "attributes", Type: "map", Merge: mergeOne, Doc: "Attributes."},
		{Key: "tags", Type: "map", Default: "those of the application load balancer", Merge: mergeOne, Doc: "Tags."},
	} {
		r.Group, r.Key, r.Planned = group, "frontend-nlb-"+r.Key, true
		rows = append(rows, row{Row: r, read: frontendKey})
	}
	return rows
}
