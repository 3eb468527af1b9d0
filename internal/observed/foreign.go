package observed

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Foreign reports that others have changed, added or deleted a resource of a stack.
type Foreign struct {
	Kind string // as in the address of a step of a plan
	ID   string // ARN, or id of a security group
	// Deleted is what a resource that others deleted was known by, so that the step which makes it again is known: the id
	// in the address of that step, or for a rule its RuleText. It is empty for a resource that exists.
	Deleted string
	// Added is set if the resource was not there before.
	Added bool
	// At is when it was read.
	At time.Time
}

// RuleText returns the same for rules of a listener that match the same requests.
func RuleText(port int32, conditions []model.Condition) string {
	text, _ := json.Marshal(conditions) // they are values
	return strconv.Itoa(int(port)) + " " + string(text)
}
