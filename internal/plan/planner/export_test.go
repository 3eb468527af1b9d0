package planner

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// LiveGroups are the ARNs of the live target groups that stay, by the ids of the desired ones.
func LiveGroups(want model.Stack, have observed.Stack, opt plan.Options) map[string]string {
	return match(want, have, opt, plan.Memory{}).groups.GroupARN
}

// TargetsDeadline is for how long a plan waits until targets of target groups are healthy.
func TargetsDeadline(want model.Stack, have observed.Stack, opt plan.Options, groups []model.GroupRef) time.Duration {
	return match(want, have, opt, plan.Memory{}).traffic.TargetsDeadline(groups)
}
