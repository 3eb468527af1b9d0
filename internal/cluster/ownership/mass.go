package ownership

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// massFrom is how many objects at least have to change controller without an edit to be taken for an
// accident.
const massFrom = 3

// Class is what decides, for several objects alike, which controller they belong to.
type Class interface {
	// Objects are the objects of the class.
	Objects() []cluster.Object
	// Edited reports whether a user has edited an object since the other controller has its class.
	Edited(obj cluster.Object) bool
	// Elsewhere reports whether the class gives an object to another controller.
	Elsewhere(obj cluster.Object) bool
}

// ClassText is how findings speak of a class.
type ClassText struct {
	// Field is where objects name their class, Kinds what they are called, and Restore how the class is
	// given back.
	Field, Kinds, Restore string
}

// MassRemoval reports that an object which is served is given to another controller by a class, or by
// the controller's own flags, that changed under it and under others, while no user edited them: a
// class was deleted and made for another controller, or this process was started for another class.
// Load balancers that are removed get other names when they are made again. Nil if the object may
// go, as one does whose own class was edited.
func MassRemoval(v *cluster.View, obj cluster.Object, c Class, text ClassText) *finding.Finding {
	if c.Edited(obj) {
		return nil
	}
	turned := 0
	for _, o := range c.Objects() {
		if o.GetDeletionTimestamp() == nil && len(Claims(v, o)) > 0 && !c.Edited(o) && c.Elsewhere(o) {
			turned++
		}
	}
	if turned < massFrom {
		return nil
	}
	return &finding.Finding{
		Object: RefOf(obj), Field: text.Field, Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: fmt.Sprintf("the class gives this and %d other %s to another controller, and none of them was edited; what is live stays", turned-1, text.Kinds),
		Fix:     text.Restore + "; if this is meant, delete or edit the " + text.Kinds + ", or start the controller with --allow-mass-removal", Blocks: finding.BlocksMember,
	}
}
