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
	if err := r.confirm(ctx, id, bound, faults); err != nil {
		return observed.Stack{}, err
	}
	for _, arn := range r.Inv.LoadBalancersOf(id) {
		if err := r.listeners.detail(ctx, arn, bound); err != nil {
			return observed.Stack{}, err
		}
		if err := r.listeners.complete(ctx, arn, faults); err != nil {
			return observed.Stack{}, err
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
	return r.snapshot(id, bound.Since), nil
}

// Faults are why questions have no answer, by their keys.
type Faults map[string]observed.Fault

// Note takes down a fault in place of an answer; it returns what else went wrong.
func (f Faults) Note(q model.Question, err error) error {
	if x := sdk.FaultOf(err); x != nil {
		f[q.Key()] = *x
		return nil
	}
	return err
}

// Since is how old listings may be; zero: as old as is usual.
func Since(questions []model.Question) (t time.Time) {
	for _, q := range questions {
		if q, ok := q.(model.AskListings); ok && q.Since.After(t) {
			t = q.Since
		}
	}
	return t
}
