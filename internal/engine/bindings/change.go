package bindings

// ChangeKind is the kind of a Change in AWS.
type ChangeKind int

// The kinds of changes that are made in AWS for bindings.
const (
	TargetsRegistered   ChangeKind = iota // targets were registered in a target group
	TargetsDeregistered                   // targets were deregistered from a target group
	RulesAuthorized                       // rules were added to a security group
	RulesRevoked                          // rules were removed from a security group
)

// Change is one change that was made in AWS.
type Change struct {
	Kind ChangeKind
	// Resource is the ARN of the target group, or the ID of the security group.
	Resource string
	// Items are the targets or rules that were added or removed, as text.
	Items []string
}

// recordChange passes a change to the Recorder, unless items is empty.
func (r *Reconciler) recordChange(k ChangeKind, resource string, items []string) {
	if len(items) > 0 {
		r.Recorder.RecordChange(Change{k, resource, items})
	}
}

// textsOf returns the text of each element of a list.
func textsOf[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = text(x)
	}
	return out
}
