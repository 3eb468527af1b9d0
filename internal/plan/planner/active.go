package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// awaitActive has a stack looked at again until AWS has made its load balancer, because the status of a Gateway says
// whether it has.
func (b *builder) awaitActive() {
	switch {
	case !b.Want.ID.Kind.OfGateway() || b.Want.Held.Creation:
	case b.Live == nil:
		b.Again(draft.FirstPoll)
	case b.Live.State == observed.Provisioning:
		b.Ask(model.AskState{ARN: b.Live.ARN})
		b.Again(4 * draft.FirstPoll) // its state is read at most every ten seconds
	}
}
