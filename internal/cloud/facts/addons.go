package facts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"
	waf "github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// AddOns reads what load balancers are tied to in other services.
type AddOns struct {
	*sdk.Client
	inv *inventory.Inventory

	cache.Guard
	cache addOnCache
}

// NewAddOns returns AddOns that have read nothing yet.
func NewAddOns(at *sdk.Client, inv *inventory.Inventory) *AddOns {
	return &AddOns{Client: at, inv: inv}
}

func (a *AddOns) reset() { a.With(func() { a.cache = newAddOnCache() }) }

// addOnCache keeps the answers of other services.
type addOnCache struct {
	ties         map[string]tieEntry // by question
	acls         aclList
	stores       map[string]foundName
	subscription *observed.Subscription
	subscribedAt time.Time
}

type tieEntry struct {
	tie observed.AddOn
	at  time.Time
}

// aclList is the result of the last listing of web ACLs.
type aclList struct {
	arns map[string]string // by name
	at   time.Time
}

func newAddOnCache() addOnCache {
	return addOnCache{ties: map[string]tieEntry{}, stores: map[string]foundName{}}
}

// askAddOn reads what a load balancer is tied to.
func (a *AddOns) askAddOn(ctx context.Context, q model.AskAddOn, since time.Time) (observed.AddOn, error) {
	if !a.inv.Knows(q.ARN) {
		return observed.AddOn{}, nil
	}
	cached := func() (out observed.AddOn, ok bool) {
		a.With(func() {
			e, there := a.cache.ties[q.Key()]
			out, ok = e.tie, there && a.Current(e.at, since, q.Key())
		})
		return out, ok
	}
	out, err := sdk.Asked(ctx, a.Client, q.Key(), cached, func() error {
		tie, err := sdk.Brief(ctx, func(ctx context.Context) (observed.AddOn, error) { return a.readAddOn(ctx, q) })
		if sdk.Code(err) == "WAFNonexistentItemException" && !a.Younger(a.inv.CreatedAt(plan.LoadBalancer, q.ARN), durations.Settle) {
			return sdk.Wrap(engine.Gone, "read "+q.Key(), err)
		}
		if err == nil {
			a.SetAssociation(q, tie)
		}
		return err
	})
	if f, err := sdk.OtherFault(err); f != nil || err != nil {
		return observed.AddOn{Fault: f}, err
	}
	return out, nil
}

// SetAssociation notes the association of a load balancer, and forgets what was not asked for in a while.
func (a *AddOns) SetAssociation(q model.AskAddOn, tie observed.AddOn) {
	now := a.Config.Clock.Now()
	a.With(func() {
		ties := a.cache.ties
		for k, e := range ties {
			if now.Sub(e.at) > durations.Unchanging {
				delete(ties, k)
			}
		}
		ties[q.Key()] = tieEntry{tie, now}
	})
}

// ForgetAssociation drops the known association of a load balancer, so that it is read again.
func (a *AddOns) ForgetAssociation(q model.AskAddOn) {
	a.With(func() { delete(a.cache.ties, q.Key()) })
}

func (a *AddOns) readAddOn(ctx context.Context, q model.AskAddOn) (out observed.AddOn, err error) {
	switch q.Of {
	case model.WAFv2:
		res, err := a.API.WAFv2.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: aws.String(q.ARN)})
		if err == nil && res.WebACL != nil {
			out.ID, out.Name = aws.ToString(res.WebACL.ARN), aws.ToString(res.WebACL.Name)
		}
		return out, err
	case model.WAFClassic:
		res, err := a.API.WAF.GetWebACLForResource(ctx, &waf.GetWebACLForResourceInput{ResourceArn: aws.String(q.ARN)})
		if err == nil && res.WebACLSummary != nil {
			out.ID, out.Name = aws.ToString(res.WebACLSummary.WebACLId), aws.ToString(res.WebACLSummary.Name)
		}
		return out, err
	case model.ShieldPlan:
		res, err := a.API.Shield.DescribeProtection(ctx, &shield.DescribeProtectionInput{ResourceArn: aws.String(q.ARN)})
		if sdk.IsGone(err) {
			return out, nil
		}
		if err == nil && res.Protection != nil {
			out.ID, out.Name = aws.ToString(res.Protection.Id), aws.ToString(res.Protection.Name)
		}
		return out, err
	}
	return out, sdk.Failed(engine.Unknown, q.Key(), "there is no such service")
}

// askWebACL finds a web ACL by name among those of the region. One listing answers for all names.
func (a *AddOns) askWebACL(ctx context.Context, name string) (observed.WebACL, error) {
	cached := func() (out observed.WebACL, ok bool) {
		a.With(func() {
			l := a.cache.acls
			age := durations.None
			if out.ARN = l.arns[name]; out.ARN != "" {
				age = durations.Kept
			}
			ok = a.Younger(l.at, age)
		})
		return out, ok
	}
	out, err := sdk.Asked(ctx, a.Client, "web acls", cached, func() error {
		start := a.Config.Clock.Now()
		all, err := a.listWebACLs(ctx)
		if err != nil {
			return err
		}
		a.With(func() { a.cache.acls = aclList{all, start} })
		return nil
	})
	if f, err := sdk.OtherFault(err); f != nil || err != nil {
		return observed.WebACL{Fault: f}, err
	}
	return out, nil
}

func (a *AddOns) listWebACLs(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	in := &wafv2.ListWebACLsInput{Scope: waftypes.ScopeRegional, Limit: aws.Int32(100)}
	for {
		page, err := sdk.Brief(ctx, func(ctx context.Context) (*wafv2.ListWebACLsOutput, error) { return a.API.WAFv2.ListWebACLs(ctx, in) })
		if err != nil {
			return nil, err
		}
		for _, a := range page.WebACLs {
			out[aws.ToString(a.Name)] = aws.ToString(a.ARN)
		}
		if aws.ToString(page.NextMarker) == "" {
			return out, nil
		}
		in.NextMarker = page.NextMarker
	}
}

// askSubscription reads whether the account has Shield Advanced.
func (a *AddOns) askSubscription(ctx context.Context) (*observed.Subscription, error) {
	cached := func() (out *observed.Subscription, ok bool) {
		a.With(func() {
			out = a.cache.subscription
			ok = out != nil && a.Younger(a.cache.subscribedAt, durations.Kept)
		})
		return out, ok
	}
	out, err := sdk.Asked(ctx, a.Client, model.AskSubscription{}.Key(), cached, func() error {
		res, err := sdk.Brief(ctx, func(ctx context.Context) (*shield.GetSubscriptionStateOutput, error) {
			return a.API.Shield.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{})
		})
		if err != nil {
			return err
		}
		got := &observed.Subscription{Active: res.SubscriptionState == shieldtypes.SubscriptionStateActive}
		a.With(func() { a.cache.subscription, a.cache.subscribedAt = got, a.Config.Clock.Now() })
		return nil
	})
	if f, err := sdk.OtherFault(err); f != nil || err != nil {
		return &observed.Subscription{Fault: f}, err
	}
	return out, nil
}

// askTrustStores finds trust stores by name: those that are not known in one call, or one by one
// if one of them does not exist, since AWS then refuses the whole call.
func (a *AddOns) askTrustStores(ctx context.Context, names []string) (map[string]string, error) {
	unknown := func() (out map[string]string, rest []string) {
		out = map[string]string{}
		a.With(func() {
			for _, n := range names {
				f := a.cache.stores[n]
				if out[n] = f.arn; !a.Younger(f.at, f.maxAge(a.cache.stores, durations.Stable)) {
					rest = append(rest, n)
				}
			}
		})
		return out, rest
	}
	out, rest := unknown()
	if len(rest) == 0 {
		return out, nil
	}
	err := a.Optional(ctx, "trust stores "+strings.Join(rest, ","), func() error {
		err := a.readTrustStores(ctx, rest)
		if isMissingStore(err) && len(rest) == 1 {
			return nil
		}
		if !isMissingStore(err) {
			return err
		}
		for _, n := range rest {
			if err := a.readTrustStores(ctx, []string{n}); err != nil && !isMissingStore(err) {
				return err
			}
		}
		return nil
	})
	out, _ = unknown()
	return out, err
}

// isMissingStore reports whether AWS knows no trust store of a name, or takes it for none.
func isMissingStore(err error) bool { return err != nil && sdk.ClassOf(err) == engine.Invalid }

func (a *AddOns) readTrustStores(ctx context.Context, names []string) error {
	start := a.Config.Clock.Now()
	found := map[string]foundName{}
	for _, n := range names {
		found[n] = foundName{at: start}
	}
	pages := elb.NewDescribeTrustStoresPaginator(a.API.ELB, &elb.DescribeTrustStoresInput{Names: names})
	for pages.HasMorePages() {
		page, err := sdk.Brief(ctx, func(ctx context.Context) (*elb.DescribeTrustStoresOutput, error) { return pages.NextPage(ctx) })
		if err != nil {
			if isMissingStore(err) && len(names) == 1 {
				a.With(func() { putCached(a.cache.stores, names[0], found[names[0]], outdated(a.Client)) })
			}
			return fmt.Errorf("find trust stores: %w", err)
		}
		for _, s := range page.TrustStores {
			found[aws.ToString(s.Name)] = foundName{aws.ToString(s.TrustStoreArn), start}
		}
	}
	a.With(func() {
		for n, f := range found {
			putCached(a.cache.stores, n, f, outdated(a.Client))
		}
	})
	return nil
}
