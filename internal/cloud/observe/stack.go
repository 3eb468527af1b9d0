package observe

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ObserveStack returns the observed state of a stack. It reads from AWS what is not in the inventory, and what was last
// read before the time that a question requires. It records in faults which optional reads failed.
func (r *Reader) ObserveStack(ctx context.Context, id model.StackID, questions []model.Question, faults Faults) (observed.Stack, error) {
	bound := ComparisonIn(questions)
	if err := r.RefreshLists(ctx, ListsSince(questions), faults); err != nil {
		return observed.Stack{}, err
	}
	shown := stacksIn(id, questions)
	for _, of := range shown {
		if err := r.refreshResources(ctx, of, bound, faults); err != nil {
			return observed.Stack{}, err
		}
		for _, arn := range r.Inv.StackLoadBalancerARNs(of) {
			if err := r.listeners.refreshDetail(ctx, arn, bound); err != nil {
				return observed.Stack{}, err
			}
			if err := r.listeners.readMissing(ctx, arn, faults); err != nil {
				return observed.Stack{}, err
			}
		}
	}
	for _, q := range questions {
		var err error
		switch q := q.(type) {
		case model.AskAttributes:
			err = r.attributes.lookUpAttributes(ctx, q, bound.Since)
		case model.AskCapacity:
			err = r.attributes.lookUpCapacity(ctx, q, bound.Since)
		case model.AskState:
			err = r.attributes.lookUpState(ctx, q)
		}
		if err := faults.Add(q, err); err != nil {
			return observed.Stack{}, err
		}
	}
	return r.snapshot(shown, bound.Since), nil
}

// stacksIn returns the stacks whose resources are in the observed state: first stack id, and then the stack, if any, with
// which stack id hands over a load balancer according to the questions.
func stacksIn(id model.StackID, questions []model.Question) []model.StackID {
	out := []model.StackID{id}
	for _, q := range questions {
		if q, ok := q.(model.AskAdopted); ok {
			out = append(out, q.From)
		}
	}
	return out
}

// Invalidate makes the next run read all resources again that ObserveStack returns for the same questions. It reports
// whether this process created one of these resources within the settle window.
func (r *Reader) Invalidate(id model.StackID, questions []model.Question) (recentlyCreated bool) {
	for _, of := range stacksIn(id, questions) {
		recentlyCreated = r.invalidate(of) || recentlyCreated
	}
	return recentlyCreated
}

// Faults are the failures of optional reads, by key of the question that could not be answered.
type Faults map[string]observed.Fault

// Add records the fault of a failed optional read under the key of q, and returns nil. It returns an error that has no
// fault. If f is nil, no read is optional, and Add returns err.
func (f Faults) Add(q model.Question, err error) error {
	if x := sdk.FaultOf(err); x != nil && f != nil {
		f[q.Key()] = *x
		return nil
	}
	return err
}

// ListsSince returns the time before which the lists must not have been read; zero if the questions set no such time.
func ListsSince(questions []model.Question) (t time.Time) {
	for _, q := range questions {
		if q, ok := q.(model.AskListings); ok && q.Since.After(t) {
			t = q.Since
		}
	}
	return t
}
