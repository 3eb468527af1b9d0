package cloud

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/apply"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Observe implements engine.Cloud. It fails only if an essential fact cannot be read; see sdk/faults.go. If AWS reports that
// a resource in the inventory does not exist, the error has the class Gone, or NotReady if the resource is new and may not
// be visible yet. The next call then reads all resources of the stack again.
func (c *Cloud) Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	out, err := c.observe(callerForStack(ctx, id), id, questions)
	if sdk.IsGone(err) && (c.reader.Invalidate(id, questions) || id.Kind.HasAccelerator() && c.accelerators.Invalidate(id)) {
		err = sdk.Wrap(failure.NotReady, "observe", err)
	}
	return out, err
}

func (c *Cloud) observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	faults := observe.Faults{}
	out, err := c.reader.ObserveStack(ctx, id, questions, faults)
	if err != nil {
		return observed.Stack{}, err
	}
	out.Facts.Faults = faults
	if id.Kind.HasAccelerator() {
		if err := c.accelerators.Observe(ctx, id, questions, &out); err != nil {
			return observed.Stack{}, err
		}
	}
	for _, q := range questions {
		err := c.answerQuestion(ctx, id, &out, q, observe.ComparisonIn(questions).Since)
		if err := faults.Add(q, err); err != nil {
			return observed.Stack{}, fmt.Errorf("read facts: %w", err)
		}
	}
	return out, nil
}

// answerQuestion reads the answer to question q and stores it in out. Facts that were read earlier than the time since are
// read again.
func (c *Cloud) answerQuestion(ctx context.Context, id model.StackID, out *observed.Stack, q model.Question, since time.Time) (err error) {
	switch q := q.(type) {
	case model.AskLoadBalancers:
		out.Facts.Endpoints[q.Key()], err = c.findEndpointLoadBalancers(ctx, q)
	case model.AskAcceleratorsOf:
		out.Facts.Accelerators[q.ARN], err = c.accelerators.AcceleratorsWithEndpoint(ctx, q.ARN)
	case model.AskAccelerator, model.AskAcceleratorState, model.AskSharedAccelerator:
		// The answers to these questions are part of the observed accelerators.
	default:
		err = c.facts.Answer(ctx, id, out, q, since)
	}
	return err
}

// findEndpointLoadBalancers returns the load balancers that q selects as possible endpoints. If q names a load balancer that
// is not in the inventory, it reads the inventory again, because another process or user may have created the load balancer
// since the last read.
func (c *Cloud) findEndpointLoadBalancers(ctx context.Context, q model.AskLoadBalancers) ([]observed.EndpointLoadBalancer, error) {
	found, err := c.accelerators.FindEndpointLoadBalancers(ctx, q)
	if len(found) > 0 || err != nil || q.DNSName == "" && !strings.Contains(q.ARN, ":elasticloadbalancing:"+c.client.Config.Region+":") {
		return found, err
	}
	if err := c.reader.RefreshLoadBalancers(ctx, c.client.EarliestReadTime(durations.EditableFactAge)); err != nil {
		return nil, err
	}
	return c.accelerators.FindEndpointLoadBalancers(ctx, q)
}

// Apply implements engine.Cloud. Each step is one mutating call, or two if AWS has no single call for the change. The result
// of the call is stored in the inventory. If a call failed but may have taken effect, its resource is removed from the
// inventory, so that the next observation reads it.
func (c *Cloud) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	ctx = callerForStack(ctx, id)
	if plan.IsAcceleratorKind(s.Address.Kind) {
		return c.accelerators.Apply(ctx, id, s, known)
	}
	res, err := c.writer.Apply(ctx, id, s, known)
	return res, sdk.WithoutSecrets(err, apply.SecretsIn(s.Do))
}
