package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// gatewayOnlyReasons are reasons of findings that concern only a Gateway or its load balancer, and never a route or a
// listener.
var gatewayOnlyReasons = []finding.Reason{
	finding.GatewayClassInvalid, finding.DeletionProtected, finding.RemovalNotTrusted, finding.AnnotationConflict,
	finding.ListenerConflict, finding.SchemeKept, finding.SecurityGroupNotFound, finding.SubnetsNotFound, finding.SubnetsUnsuitable,
	finding.LoadBalancerDoubled, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.ReplacedWithGap,
	finding.AdoptionDiffers, finding.AdoptionReady, finding.AdoptionRefused, finding.LoadBalancerAdopted, finding.LoadBalancerReturned,
	finding.ReplacementHeld, finding.WebACLNotFound, finding.TrustStoreNotFound, finding.ServiceUnavailable, finding.RulesRevoked,
	finding.RedirectPortInvalid, finding.SettingOfClass, finding.HostNotOwned, finding.IngressTooLarge, finding.ServiceTooLarge,
	finding.IngressClassInvalid, finding.GroupNameInvalid, finding.GroupOrderInvalid, finding.NamespaceNotAllowed,
	finding.HostedZoneNotFound, finding.PlanTooLarge, finding.EndpointGroupUnclear, finding.GatewayFieldIgnored,
	finding.DriftFound, finding.DriftRepaired, finding.ChangeNotKept, finding.ChangedTooOften,
}

// reasonsCopiedToConditions are reasons of findings that become reasons of conditions unchanged, because the Gateway API has
// no reason for them.
var reasonsCopiedToConditions = []finding.Reason{
	finding.GatewayTooLarge, finding.QuotaReached, finding.AccessDenied, finding.CallFailed, finding.NameTaken,
	finding.CertificateNotFound, finding.CertificateMissing,
}

// TestEveryReasonHasARow checks that each reason of a finding that the frontend or its dependencies can report has a row in
// conditionTable, or is in one of the lists above.
func TestEveryReasonHasARow(t *testing.T) {
	known := map[string]finding.Reason{}
	for _, e := range finding.Reasons {
		known[string(e.Reason)] = e.Reason
	}
	dirs := []string{".", "..", "../../gatewayconfig", "../../assemble", "../../members", "../../../cluster/ownership", "../../../engine", "../../../finding/failure"}
	plans, err := filepath.Glob("../../../plan/*")
	if err != nil {
		t.Fatal(err)
	}
	dirs = append(dirs, "../../../plan")
	for _, dir := range plans {
		// Findings about bindings and accelerators are not in the status of a Gateway.
		if name := filepath.Base(dir); filepath.Ext(name) == "" && name != "bindingplan" && name != "targets" && name != "accelerators" {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "table.go" {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "finding" {
					return true
				}
				reason, ok := known[sel.Sel.Name]
				if _, row := conditionTable[reason]; ok && !row && !slices.Contains(gatewayOnlyReasons, reason) && !slices.Contains(reasonsCopiedToConditions, reason) {
					t.Errorf("%s: reason %s has no row in conditionTable", path, reason)
				}
				return true
			})
		}
	}
	for _, r := range slices.Concat(gatewayOnlyReasons, reasonsCopiedToConditions) {
		if _, row := conditionTable[r]; row {
			t.Errorf("reason %s has a row", r)
		}
	}
}

// TestConditionsOfFindings checks which effect a finding has on conditions, and with which reason.
func TestConditionsOfFindings(t *testing.T) {
	for _, c := range []struct {
		reason   finding.Reason
		severity finding.Severity
		of       conditionEffect
		want     string
	}{
		{finding.RouteValueUnsupported, finding.Error, setsAcceptedFalse, "UnsupportedValue"},
		{finding.RouteFiltersIncompatible, finding.Error, setsAcceptedFalse, "IncompatibleFilters"},
		{finding.BackendKindUnknown, finding.Error, setsResolvedRefsFalse, "InvalidKind"},
		{finding.ReferenceNotPermitted, finding.Error, setsResolvedRefsFalse, "RefNotPermitted"},
		{finding.BackendPortNotFound, finding.Error, setsResolvedRefsFalse, "BackendNotFound"},
		{finding.QuotaReached, finding.Error, setsAcceptedFalse, "QuotaReached"},
		{finding.QuotaReached, finding.Warning, addsAdvice, ""},
		{finding.RouteFieldIgnored, finding.Warning, addsAdvice, ""},
	} {
		if got := conditionChangeFor(finding.Finding{Reason: c.reason, Severity: c.severity}); got != (conditionChange{c.of, c.want}) {
			t.Errorf("%s %s: %v", c.severity, c.reason, got)
		}
	}
}
