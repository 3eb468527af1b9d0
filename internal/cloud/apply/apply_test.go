package apply

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestForwardToMissingTargetGroupIsAConflict(t *testing.T) {
	_, err := convert.ActionsToAWS([]model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "missing"}}}}}, targetGroupARNs(nil))
	if sdk.ClassOf(err) != failure.Conflict {
		t.Fatal(err)
	}
}
