package owners

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// TestOwnedByOtherNamespace checks that the controller recognizes a target group that was created for another namespace, in
// this stack or in another one, because rules may not forward to such a target group by ARN.
func TestOwnedByOtherNamespace(t *testing.T) {
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
