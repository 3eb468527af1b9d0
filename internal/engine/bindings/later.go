package bindings

import (
	"context"
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// How long a change of targets may wait for its turn.
const (
	registerWithin = time.Second
	// deregisterWithin is less than the half minute after which a VPC gives an address to another pod.
	deregisterWithin = 25 * time.Second
)

// registerTurn is the turn of a call that registers targets.
func (p *pass) registerTurn() Turn { return Turn{p.key.Namespace, registerWithin} }

// deregisterTurn is the turn of a call that takes targets out. It is soon if an address is another
// tenant's already.
func (p *pass) deregisterTurn(list []observed.Target) Turn {
	if targets.GivenAway(p.r.Cluster.View(), p.key.Namespace, list) {
		return Turn{p.key.Namespace, registerWithin}
	}
	return Turn{p.key.Namespace, deregisterWithin}
}

// turn is when a call that was not sent, because its pace is used up, would have its turn; zero if
// the error does not say.
func turn(err error) time.Duration {
	var paced interface{ RetryAfter() time.Duration }
	if errors.As(err, &paced) {
		return paced.RetryAfter()
	}
	return 0
}

// putOff asks for another run when a call has its turn. Until then more may come to do for the same
// target group, which then goes in the same call. False: the error is another one.
func (p *pass) putOff(err error) bool {
	d := turn(err)
	if d <= 0 {
		return false
	}
	p.later, p.out.Waiting = true, true
	p.retry(true, d)
	return true
}

// stopped ends a run at an error of AWS.
func (p *pass) stopped(ctx context.Context, err error) error {
	if p.putOff(err) {
		return nil
	}
	return p.failed(ctx, err)
}
