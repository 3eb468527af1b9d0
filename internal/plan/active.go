package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// awaitActive has a stack looked at again until AWS has made its load balancer, because the status of a Gateway says
// whether it has.
func (b *builder) awaitActive() {
	switch {
	case !b.want.ID.Kind.OfGateway() || b.want.Held.Creation:
	case b.live == nil:
		b.again(firstPoll)
	case b.live.State == observed.Provisioning:
		b.ask(model.AskState{ARN: b.live.ARN})
		b.again(4 * firstPoll) // its state is read at most every ten seconds
	}
}
