package plan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// What tests outside of the package need of it besides.
var (
	NotFound       = notFound
	Unavailable    = unavailable
	ForwardOf      = forwardOf
	Weight         = weight
	SameActions    = sameActions
	SameConditions = sameConditions
	PollAfter      = pollAfter
	ZoneOf         = zoneOf
)

const (
	LegacyProtectionName = legacyProtectionName
	LongestWait          = longestWait
	NamedWait            = namedWait
	OutageWait           = outageWait
	RefusedWait          = refusedWait
	Settling             = settling
	TopPriority          = topPriority
)

// LiveGroups are the ARNs of the live target groups that stay, by the ids of the desired ones.
func LiveGroups(want model.Stack, have observed.Stack, opt Options) map[string]string {
	return newBuilder(want, have, opt, Memory{}).groupARN
}

// TargetsDeadline is for how long a plan waits until targets of target groups are healthy.
func TargetsDeadline(want model.Stack, have observed.Stack, opt Options, groups []model.GroupRef) time.Duration {
	return newBuilder(want, have, opt, Memory{}).traffic.targetsDeadline(groups)
}
