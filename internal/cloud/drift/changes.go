package drift

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Changes are notified of what others have changed.
type Changes interface {
	// ChangedOutside gets each stack of which others have changed something, as soon as that is read. It returns at once
	// and does not call back.
	ChangedOutside(id model.StackID)
}
