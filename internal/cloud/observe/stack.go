package observe

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Stack reads what is not known of a stack, or may not be compared with, and notes in faults what could not be read.
func (r *Reader) Stack(ctx context.Context, id model.StackID, questions []model.Question, faults Faults) (observed.Stack, error) {
	bound := BoundIn(questions)
	if err := r.List(ctx, Since(questions), faults); err != nil {
		return observed.Stack{}, err
	}
	shown := stacksIn(id, questions)
	for _, of := range shown {
		if err := r.confirm(ctx, of, bound, faults); err != nil {
			return observed.Stack{}, err
		}
		for _, arn := range r.Inv.LoadBalancersOf(of) {
			if err := r.listeners.detail(ctx, arn, bound); err != nil {
				return observed.Stack{}, err
			}
			if err := r.listeners.complete(ctx, arn, faults); err != nil {
				return observed.Stack{}, err
			}
		}
	}
	for _, q := range questions {
		var err error
		switch q := q.(type) {
		case model.AskAttributes:
			err = r.attributes.askAttributes(ctx, q, bound.Since)
		case model.AskCapacity:
			err = r.attributes.askCapacity(ctx, q, bound.Since)
		case model.AskState:
			err = r.attributes.askState(ctx, q)
		}
		if err := faults.Note(q, err); err != nil {
			return observed.Stack{}, err
		}
	}
	return r.snapshot(shown, bound.Since), nil
}

// stacksIn returns the stacks whose resources are shown: that which is asked about first, and the one whose load
// balancer it has taken over or takes over.
func stacksIn(id model.StackID, questions []model.Question) []model.StackID {
	out := []model.StackID{id}
	for _, q := range questions {
		if q, ok := q.(model.AskAdopted); ok {
			out = append(out, q.From)
		}
	}
	return out
}

// Distrust makes the next look read all of a stack again, with what it was asked about together. See distrust.
func (r *Reader) Distrust(id model.StackID, questions []model.Question) (young bool) {
	for _, of := range stacksIn(id, questions) {
		young = r.distrust(of) || young
	}
	return young
}

// Faults are the faults because of which questions have no answer, by key of the question.
type Faults map[string]observed.Fault

// Note takes down a fault in place of an answer; it returns what else went wrong.
func (f Faults) Note(q model.Question, err error) error {
	if x := sdk.FaultOf(err); x != nil {
		f[q.Key()] = *x
		return nil
	}
	return err
}

// Since returns how old listings may be; zero: as old as is usual.
func Since(questions []model.Question) (t time.Time) {
	for _, q := range questions {
		if q, ok := q.(model.AskListings); ok && q.Since.After(t) {
			t = q.Since
		}
	}
	return t
}
