package planner

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// LiveTargetGroupARNs returns the ARNs of the existing target groups that are kept, by the ID of the desired target group.
func LiveTargetGroupARNs(want model.Stack, have observed.Stack, opt plan.Options) map[string]string {
	return newResolution(want, have, opt, plan.Memory{}).groups.LiveTargetGroupARNs
}

// TargetsDeadline returns how long a plan waits for the targets of target groups to become healthy.
func TargetsDeadline(want model.Stack, have observed.Stack, opt plan.Options, groups []model.TargetGroupRef) time.Duration {
	return newResolution(want, have, opt, plan.Memory{}).traffic.TargetsDeadline(groups)
}
