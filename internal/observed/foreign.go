package observed

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// OutsideChange is a change of a resource of a stack outside of the controller: the resource was changed, added or deleted.
type OutsideChange struct {
	Kind string // kind in plan.Address
	ID   string // ARN, or id of a security group
	// DeletedResource identifies a deleted resource, so that the step which creates it again is found: the id in the address
	// of that step, or RuleText for a listener rule. It is empty for a resource that exists.
	DeletedResource string
	// WasAdded is set if the resource was added.
	WasAdded bool
	// ReadAt is when the change was read.
	ReadAt time.Time
}

// RuleText returns a text that is equal for listener rules with the same port and conditions.
func RuleText(port int32, conditions []model.Condition) string {
	text, _ := json.Marshal(conditions) // conditions can always be encoded
	return strconv.Itoa(int(port)) + " " + string(text)
}
