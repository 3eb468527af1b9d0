package cloud

import (
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/apply"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Observe implements engine.Cloud. It fails only for want of what is essential: see faults.go. Where
// AWS says that something does not exist that the inventory knows, the error has class Gone, and the
// next look reads all of the stack again.
func (c *Cloud) Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	out, err := c.observe(callerForStack(ctx, id), id, questions)
	if sdk.IsGone(err) && c.reader.Distrust(id) {
		err = sdk.Wrap(engine.NotReady, "observe", err)
	}
	return out, err
}

func (c *Cloud) observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	faults := observe.Faults{}
	out, err := c.reader.Stack(ctx, id, questions, faults)
	if err != nil {
		return observed.Stack{}, err
	}
	out.Facts.Faults = faults
	for _, q := range questions {
		err := c.facts.Answer(ctx, id, &out, q, observe.BoundIn(questions).Since)
		if err := faults.Note(q, err); err != nil {
			return observed.Stack{}, fmt.Errorf("read facts: %w", err)
		}
	}
	return out, nil
}

// Apply implements engine.Cloud. Each step is one write, or two where AWS knows no one call for
// it. What a write brought about is entered in the inventory; where a failed write may have
// brought about something the resource is forgotten, so that the next look reads it.
func (c *Cloud) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.Known) (plan.Result, error) {
	res, err := c.writer.Apply(callerForStack(ctx, id), id, s, known)
	return res, sdk.WithoutSecrets(err, apply.SecretsIn(s.Do))
}
