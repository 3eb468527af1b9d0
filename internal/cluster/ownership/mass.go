package ownership

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// minMassRemoval is the minimum number of unedited objects that must change their controller, so that the change is treated
// as a mistake.
const minMassRemoval = 3

// ControllerSelector is a class, or a flag of the controller, that selects the controller of several objects.
type ControllerSelector interface {
	// Objects returns the objects that name the class, or that the flag selects.
	Objects() []cluster.Object
	// EditedByUser reports whether a user has edited an object after the class began to select another controller.
	EditedByUser(obj cluster.Object) bool
	// SelectsOtherController reports whether the class selects another controller for an object.
	SelectsOtherController(obj cluster.Object) bool
}

// ClassTexts has the texts about a class that findings contain.
type ClassTexts struct {
	Field   string // field of objects that names the class
	Kinds   string // plural of the kind of objects
	Restore string // instruction how to make the class select this controller again
}

// MassRemoval returns a finding about obj if its class selects another controller for at least minMassRemoval objects that
// no user has edited. The probable cause is a class that was deleted and created again for another controller, or a process
// that was started for another class. The load balancers of the objects are kept, because new load balancers would have
// other DNS names. MassRemoval returns nil if the load balancer of obj may be removed, for example because a user has edited
// the class of obj.
func MassRemoval(v *cluster.View, obj cluster.Object, c ControllerSelector, text ClassTexts) *finding.Finding {
	if c.EditedByUser(obj) {
		return nil
	}
	changed := 0
	for _, o := range c.Objects() {
		if o.GetDeletionTimestamp() == nil && len(ClaimedStacks(v, o)) > 0 && !c.EditedByUser(o) && c.SelectsOtherController(o) {
			changed++
		}
	}
	if changed < minMassRemoval {
		return nil
	}
	return &finding.Finding{
		Object: cluster.RefOf(obj), Field: text.Field, Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: fmt.Sprintf("the class selects another controller for this object and %d other %s, and none of them was edited; their AWS resources stay unchanged", changed-1, text.Kinds),
		Fix:     text.Restore + "; if this is intended, delete or edit the " + text.Kinds + ", or start the controller with --allow-mass-removal", Blocks: finding.BlocksMember,
	}
}
