package apply

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// maxAttributeBatch is the maximum number of attributes that AWS accepts in one call.
const maxAttributeBatch = 20

// attributeWriter changes the attributes of load balancers, listeners and target groups.
type attributeWriter struct {
	*dependencies
}

// modifyAttributes changes attributes of a resource. The answer of AWS has all attributes of the resource, so the inventory
// is updated without another call.
func (w *attributeWriter) modifyAttributes(ctx context.Context, a plan.SetAttributes, known plan.KnownIDs) error {
	id, made, err := w.lookupOwnedID(known, a.Resource)
	if err != nil {
		return err
	}
	q := model.AskAttributes{Of: string(a.Resource.Kind), ARN: id}
	keys := slices.Sorted(maps.Keys(a.Values))
	for batch := range slices.Chunk(keys, maxAttributeBatch) {
		now := w.Config.Clock.Now()
		all, err := w.sendAttributes(ctx, q, batch, a.Values)
		if err != nil {
			w.inv.ForgetAttributes(q)
			if sdk.IsGone(err) {
				w.inv.WithWriteLock(func() { w.inv.Forget(a.Resource.Kind, id) })
			}
			return w.handleFailure("set attributes of "+id, err, made, nil)
		}
		w.inv.SetAttributes(q, all, now)
	}
	return nil
}

func (w *attributeWriter) sendAttributes(ctx context.Context, q model.AskAttributes, keys []string, values map[string]string) (map[string]string, error) {
	switch plan.ResourceKind(q.Of) {
	case plan.LoadBalancer:
		out, err := w.API.ELB.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: aws.String(q.ARN), Attributes: convert.PairsToAWS[elbtypes.LoadBalancerAttribute](keys, values)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	case plan.Listener:
		out, err := w.API.ELB.ModifyListenerAttributes(ctx, &elb.ModifyListenerAttributesInput{ListenerArn: aws.String(q.ARN), Attributes: convert.PairsToAWS[elbtypes.ListenerAttribute](keys, values)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	case plan.TargetGroup:
		out, err := w.API.ELB.ModifyTargetGroupAttributes(ctx, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(q.ARN), Attributes: convert.PairsToAWS[elbtypes.TargetGroupAttribute](keys, values)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	}
	return nil, sdk.NewError(failure.Unknown, q.ARN, "a %s has no attributes", q.Of)
}
