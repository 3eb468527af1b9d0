package owners

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// TestIsOwnedByOtherNamespace checks that the controller recognizes a target group that was created for another namespace, in
// this stack or in another one, because rules may not forward to such a target group by ARN.
func TestIsOwnedByOtherNamespace(t *testing.T) {
	have := observed.Stack{TargetGroups: []observed.TargetGroup{
		{ARN: "own", ResourceID: "shop/web-app:80"}, {ARN: "other", ResourceID: "pay/web-app:80"}, {ARN: "longer", ResourceID: "shopping/web-app:80"},
	}}
	have.Facts.TargetGroupOwners = map[string]string{"own elsewhere": "shop", "other elsewhere": "pay", "longer elsewhere": "shopping"}
	tg := NewTargetGroups(&draft.Draft{Have: have})
	for arn, want := range map[string]bool{
		"own": false, "other": true, "longer": true, "own elsewhere": false, "other elsewhere": true, "longer elsewhere": true, "of a person": false,
	} {
		if got := tg.IsOwnedByOtherNamespace(arn, "shop"); got != want {
			t.Errorf("%s: %t, want %t", arn, got, want)
		}
	}
}

// TestTargetGroupOwnersByResourceID checks that a target group without a desired one belongs to the members that its
// resource ID names, so that a member that leaves waits for its own target groups only.
func TestTargetGroupOwnersByResourceID(t *testing.T) {
	for id, c := range map[string]struct {
		kind string
		want []string
	}{
		"shop/web-admin:443":     {"Service", []string{"web-admin"}},
		"shop/web:443":           {"Service", []string{"web"}},
		"shop/website:443":       {"Service", nil},
		"shop/web-app:80":        {"Ingress", []string{"web"}},
		"shop/web-admin-app:80":  {"Ingress", []string{"web", "web-admin"}}, // the Service could be "admin-app" or "app"
		"pay/web-admin-app:8080": {"Ingress", nil},
	} {
		web, admin := finding.Ref{Kind: c.kind, Namespace: "shop", Name: "web"}, finding.Ref{Kind: c.kind, Namespace: "shop", Name: "web-admin"}
		tg := NewTargetGroups(&draft.Draft{
			Want: model.Stack{Members: []model.Member{{Ref: web}}, Leaving: []model.Member{{Ref: admin}}},
			Have: observed.Stack{TargetGroups: []observed.TargetGroup{{ARN: "x", ResourceID: id}}},
		})
		var got []string
		for _, m := range tg.TargetGroupOwners("x") {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s with members of kind %s: %q, want %q", id, c.kind, got, c.want)
		}
	}
}
