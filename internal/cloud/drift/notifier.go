package drift

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Notifier is notified of changes that another process or user has made to resources of stacks.
type Notifier interface {
	// ChangedOutside is called once for each change, as soon as the change is read, with the stack of the resource. The
	// method must return immediately, and must not call the inventory.
	ChangedOutside(id model.StackID)
}
