package accelerators

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Apply carries out a step. Before each change of an existing resource it checks that the resource belongs to the stack,
// because IAM permits the controller to change the accelerators of all clusters in the account.
func (c *Accelerators) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	none := func(err error) (plan.StepResult, error) { return plan.StepResult{}, err }
	w := writer{Accelerators: c, id: id, known: known}
	switch do := s.Do.(type) {
	case plan.CreateAccelerator:
		return w.createAccelerator(ctx, do)
	case plan.ChangeAccelerator:
		return none(w.changeAccelerator(ctx, do))
	case plan.DeleteAccelerator:
		return none(w.deleteAccelerator(ctx, do))
	case plan.SetTags:
		return none(w.setTags(ctx, do))
	case plan.CreateAcceleratorListener:
		return w.createListener(ctx, do)
	case plan.ChangeAcceleratorListener:
		return none(w.changeListener(ctx, do))
	case plan.DeleteAcceleratorListener:
		return none(w.deleteListener(ctx, do))
	case plan.CreateEndpointGroup:
		return w.createEndpointGroup(ctx, do)
	case plan.ChangeEndpointGroup:
		return none(w.changeEndpointGroup(ctx, do))
	case plan.DeleteEndpointGroup:
		return none(w.deleteEndpointGroup(ctx, do))
	case plan.AddEndpoints:
		return none(w.addEndpoints(ctx, do))
	case plan.SetEndpoints:
		return none(w.setEndpoints(ctx, do))
	case plan.RemoveEndpoints:
		return none(w.removeEndpoints(ctx, do))
	}
	return none(sdk.NewError(failure.Unknown, string(s.ID), "steps of type %T do not change resources of Global Accelerator", s.Do))
}

// writer carries out steps of the stack id. known has the ARNs of the resources of the stack, by address.
type writer struct {
	*Accelerators
	id    model.StackID
	known plan.KnownIDs
}

// lookupARN returns the ARN of an accelerator or listener. It returns an error if the ARN is not known or the accelerator
// does not belong to the stack.
func (w writer) lookupARN(a plan.Address) (string, error) {
	return w.lookup(a, w.checkOwner)
}

// lookup returns the ARN of the resource that has address a in the plan. It returns an error if no step has created the
// resource, or the error of check.
func (w writer) lookup(a plan.Address, check func(arn string) error) (string, error) {
	arn := w.known[a]
	if arn == "" {
		return "", sdk.NewError(failure.Conflict, a.String(), "the ID of the resource is unknown, because the step that creates it was not carried out")
	}
	return arn, check(arn)
}

// checkOwner returns an error unless the stack owns an accelerator. arn is the ARN of the accelerator or of one of its
// listeners.
func (w writer) checkOwner(arn string) (err error) {
	w.WithLock(func() {
		e := w.entries[acceleratorARN(arn)]
		switch {
		case e == nil:
			err = sdk.NewError(failure.Gone, arn, "the accelerator no longer exists")
		case !w.belongsToStack(w.id, e.seen.Tags):
			err = sdk.NewError(failure.Invalid, arn, "the accelerator does not have the tags of %s, so it is not changed", w.id)
		}
	})
	return err
}

// handleWriteError returns the error of a failed write with a description of the write. A not-found error gets the class
// NotReady if this process created the accelerator within the settle window. If the write may have taken effect, or the
// cached state is outdated, the accelerator is read again before the next plan. arn is "" if no accelerator exists yet.
func (w writer) handleWriteError(what, arn string, err error) error {
	class := sdk.ClassOf(err)
	recentlyCreated := false
	w.WithLock(func() {
		e := w.entries[acceleratorARN(arn)]
		recentlyCreated = e != nil && w.IsYounger(e.createdAt, durations.SettleWindow)
		if sdk.MayHaveTakenEffect(err) || class == failure.Gone || class == failure.Conflict {
			w.listedAt = time.Time{}
			if e != nil {
				e.partsAt, e.tagsAt, e.changedAt = time.Time{}, time.Time{}, time.Time{}
			}
		}
	})
	if class == failure.Gone && recentlyCreated {
		return sdk.Wrap(failure.NotReady, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (w writer) createAccelerator(ctx context.Context, do plan.CreateAccelerator) (plan.StepResult, error) {
	what := "create accelerator " + do.Name
	out, err := w.API.Accelerators.CreateAccelerator(ctx, &ga.CreateAcceleratorInput{
		Name: aws.String(do.Name), IpAddressType: addressTypeToAWS(do.AddressType), IpAddresses: do.Addresses, Enabled: aws.Bool(true),
		Tags: tagsToAWS(do.Tags), IdempotencyToken: aws.String(do.Token),
	})
	if err != nil {
		return plan.StepResult{}, w.handleWriteError(what, "", err)
	}
	if out.Accelerator == nil || aws.ToString(out.Accelerator.AcceleratorArn) == "" {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, what, "AWS returned no accelerator")
	}
	made, now := acceleratorFromAWS(*out.Accelerator), w.Config.Clock.Now()
	made.Tags = maps.Clone(do.Tags)
	w.WithLock(func() {
		if w.entries[made.ARN] == nil {
			// If the idempotency token matched an earlier call, the accelerator is not new. Other clients may have changed
			// it since, so its listeners are read.
			w.entries[made.ARN] = &cachedAccelerator{seen: made, readAt: now, tagsAt: now, createdAt: now, changedAt: now, groupsAt: map[string]time.Time{}}
			// An accelerator that is younger than the first back-off was created by this call, and has no listeners yet.
			if made.State == observed.AcceleratorInProgress && now.Sub(aws.ToTime(out.Accelerator.CreatedTime)) < durations.FirstRetry {
				w.entries[made.ARN].partsAt = now
			}
		}
	})
	return plan.StepResult{ID: made.ARN, DNSName: made.DNSName}, nil
}

func (w writer) changeAccelerator(ctx context.Context, do plan.ChangeAccelerator) error {
	arn, err := w.lookupARN(do.Accelerator)
	if err != nil {
		return err
	}
	in := &ga.UpdateAcceleratorInput{AcceleratorArn: aws.String(arn), Enabled: do.Enabled, IpAddressType: addressTypeToAWS(do.AddressType)}
	if do.Name != "" {
		in.Name = aws.String(do.Name)
	}
	out, err := w.API.Accelerators.UpdateAccelerator(ctx, in)
	if err != nil {
		return w.handleWriteError("change accelerator "+arn, arn, err)
	}
	w.cacheOwnChange(arn, func(a *observed.Accelerator) {
		if out.Accelerator != nil {
			changed := acceleratorFromAWS(*out.Accelerator)
			changed.Tags, changed.Listeners = a.Tags, a.Listeners
			*a = changed
		}
	})
	return nil
}

func (w writer) deleteAccelerator(ctx context.Context, do plan.DeleteAccelerator) error {
	if err := w.checkOwner(do.ARN); err != nil {
		return sdk.IgnoreGone(err)
	}
	_, err := w.API.Accelerators.DeleteAccelerator(ctx, &ga.DeleteAcceleratorInput{AcceleratorArn: aws.String(do.ARN)})
	if err != nil && !sdk.IsGone(err) {
		return w.handleWriteError("delete accelerator "+do.ARN, do.ARN, err)
	}
	w.WithLock(func() {
		now := w.Config.Clock.Now()
		cache.Put(w.tombstones, do.ARN, now, func(at time.Time) bool { return now.Sub(at) > durations.SettleWindow })
		delete(w.entries, do.ARN)
	})
	return nil
}

func (w writer) setTags(ctx context.Context, do plan.SetTags) error {
	arn, err := w.lookupARN(do.Resource)
	if err != nil {
		return err
	}
	return inventory.ChangeTags(do, func(put plan.Tags) error {
		_, err := w.API.Accelerators.TagResource(ctx, &ga.TagResourceInput{ResourceArn: aws.String(arn), Tags: tagsToAWS(put)})
		return w.finishTagChange(arn, err, put, nil)
	}, func(keys []string) error {
		_, err := w.API.Accelerators.UntagResource(ctx, &ga.UntagResourceInput{ResourceArn: aws.String(arn), TagKeys: keys})
		return w.finishTagChange(arn, err, nil, keys)
	})
}

// finishTagChange updates the cached tags after a call that changed them. If the call failed (err is not nil),
// finishTagChange returns the error of handleWriteError.
func (w writer) finishTagChange(arn string, err error, put map[string]string, remove []string) error {
	if err != nil {
		return w.handleWriteError("change the tags of accelerator "+arn, arn, err)
	}
	w.cacheOwnChange(arn, func(a *observed.Accelerator) {
		a.Tags = inventory.ChangedCopy(a.Tags, put, remove)
	})
	return nil
}

func (w writer) createListener(ctx context.Context, do plan.CreateAcceleratorListener) (plan.StepResult, error) {
	arn, err := w.lookupARN(do.Accelerator)
	if err != nil {
		return plan.StepResult{}, err
	}
	out, err := w.API.Accelerators.CreateListener(ctx, &ga.CreateListenerInput{
		AcceleratorArn: aws.String(arn), Protocol: types.Protocol(do.Settings.Protocol), PortRanges: portsToAWS(do.Settings.Ports),
		ClientAffinity: affinityToAWS(do.Settings.SourceIPAffinity), IdempotencyToken: aws.String(do.Token),
	})
	if err != nil {
		return plan.StepResult{}, w.handleWriteError("create a listener of accelerator "+arn, arn, err)
	}
	if out.Listener == nil {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, arn, "AWS returned no listener")
	}
	made := listenerFromAWS(*out.Listener)
	w.cacheOwnChange(arn, withInProgressState(func(a *observed.Accelerator) {
		if !slices.ContainsFunc(a.Listeners, func(l observed.AcceleratorListener) bool { return l.ARN == made.ARN }) {
			a.Listeners = append(a.Listeners, made)
		}
	}))
	return plan.StepResult{ID: made.ARN}, nil
}

func (w writer) changeListener(ctx context.Context, do plan.ChangeAcceleratorListener) error {
	arn, err := w.lookupARN(do.Listener)
	if err != nil {
		return err
	}
	_, err = w.API.Accelerators.UpdateListener(ctx, &ga.UpdateListenerInput{
		ListenerArn: aws.String(arn), Protocol: types.Protocol(do.Settings.Protocol), PortRanges: portsToAWS(do.Settings.Ports), ClientAffinity: affinityToAWS(do.Settings.SourceIPAffinity),
	})
	if err != nil {
		return w.handleWriteError("change listener "+arn, arn, err)
	}
	w.cacheOwnChange(acceleratorARN(arn), withInProgressState(func(a *observed.Accelerator) {
		for i := range a.Listeners {
			if l := &a.Listeners[i]; l.ARN == arn {
				l.Protocol, l.Ports, l.SourceIP = do.Settings.Protocol, slices.Clone(do.Settings.Ports), do.Settings.SourceIPAffinity
			}
		}
	}))
	return nil
}

func (w writer) deleteListener(ctx context.Context, do plan.DeleteAcceleratorListener) error {
	if err := w.checkOwner(do.ARN); err != nil {
		return sdk.IgnoreGone(err)
	}
	_, err := w.API.Accelerators.DeleteListener(ctx, &ga.DeleteListenerInput{ListenerArn: aws.String(do.ARN)})
	if err != nil && !sdk.IsGone(err) {
		return w.handleWriteError("delete listener "+do.ARN, do.ARN, err)
	}
	w.cacheOwnChange(acceleratorARN(do.ARN), withInProgressState(func(a *observed.Accelerator) {
		a.Listeners = slices.DeleteFunc(a.Listeners, func(l observed.AcceleratorListener) bool { return l.ARN == do.ARN })
	}))
	return nil
}
