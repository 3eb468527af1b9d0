package drift

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Notifier is notified of changes that others have made to resources of stacks.
type Notifier interface {
	// ChangedOutside is called with the stack of each change, as soon as the change is read. It returns at once and does
	// not call the inventory.
	ChangedOutside(id model.StackID)
}
