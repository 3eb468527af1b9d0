package plan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Summary has the numbers of resources that plans change. A resource that several steps change is counted once.
type Summary struct {
	Create int `json:"create"`
	Change int `json:"change"`
	// Replace counts existing resources that are deleted and replaced by new resources.
	Replace int `json:"replace"`
	Delete  int `json:"delete"`
	// Waiting counts steps that are not carried out in this run.
	Waiting int `json:"waiting"`
}

// Summary counts the resources that the plan changes. have is the observed state for which the plan was made.
func (p Plan) Summary(have observed.Stack) Summary {
	verbs := map[Address]Verb{}
	out := Summary{}
	for _, s := range p.Steps {
		if s.Waits() {
			out.Waiting++
		}
		if v, seen := verbs[s.Address]; !seen || v == Update {
			verbs[s.Address] = s.Verb
		}
	}
	logical := logicalIDs(have)
	for a, v := range verbs {
		switch {
		case v == Create:
			out.Create++
		case v == Update:
			out.Change++
		case v == Delete && verbs[Address{a.Kind, logical[a.ID]}] == Create:
			out.Replace++
			out.Create--
		case v == Delete:
			out.Delete++
		}
	}
	return out
}

// logicalIDs returns the resource ids of the observed resources, by ARN or security group id. A resource id identifies a
// resource within the stack and does not change if the resource is replaced.
func logicalIDs(have observed.Stack) map[string]string {
	out := map[string]string{}
	for _, lb := range have.LoadBalancers {
		out[lb.ARN] = lb.ResourceID
	}
	for _, g := range have.TargetGroups {
		out[g.ARN] = g.ResourceID
	}
	for _, g := range have.SecurityGroups {
		out[g.ID] = g.ResourceID
	}
	return out
}

// Add returns the sum of both summaries.
func (s Summary) Add(o Summary) Summary {
	return Summary{s.Create + o.Create, s.Change + o.Change, s.Replace + o.Replace, s.Delete + o.Delete, s.Waiting + o.Waiting}
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d to create, %d to change, %d to replace, %d to delete", s.Create, s.Change, s.Replace, s.Delete)
	switch {
	case s.Waiting == 1:
		text += "; 1 step waits"
	case s.Waiting > 1:
		text += fmt.Sprintf("; %d steps wait", s.Waiting)
	}
	return text
}
