package facts

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// AddOns reads the associations of load balancers with AWS WAF and AWS Shield, and finds web ACLs and trust stores by name.
type AddOns struct {
	*sdk.Client
	inv *inventory.Inventory

	webACLs       *sdk.Answers[map[string]string]      // ARNs of the web ACLs of the region, by name
	subscriptions *sdk.Answers[*observed.Subscription] // the subscription to Shield Advanced

	cache.Guard
	associations map[string]association // by key of the question
	trustStores  map[string]cachedARN   // by name
}

// NewAddOns returns AddOns. Facts.Reset must be called before the first use.
func NewAddOns(client *sdk.Client, inv *inventory.Inventory) *AddOns {
	return &AddOns{Client: client, inv: inv, webACLs: sdk.NewAnswers[map[string]string](client), subscriptions: sdk.NewAnswers[*observed.Subscription](client)}
}

func (a *AddOns) reset() {
	a.webACLs.Expire()
	a.subscriptions.Expire()
	a.WithLock(func() { a.associations, a.trustStores = map[string]association{}, map[string]cachedARN{} })
}

// cachedARN is the cached result of a search for a trust store by name.
type cachedARN struct {
	arn    string // "" if the trust store does not exist
	readAt time.Time
}

// association is the cached association of a load balancer with AWS WAF, AWS WAF Classic or AWS Shield.
type association struct {
	addOn  observed.AddOn
	readAt time.Time
}

// lookUpAddOn returns the association of a load balancer with the service q.Of. It reads it from AWS if the cached answer is
// not fresh or was read before the time since. The result is zero if the load balancer is not in the inventory. It has a
// Fault if the read is denied or fails.
func (a *AddOns) lookUpAddOn(ctx context.Context, q model.AskAddOn, since time.Time) (observed.AddOn, error) {
	if !a.inv.Has(q.ARN) {
		return observed.AddOn{}, nil
	}
	cached := func() (out observed.AddOn, ok bool) {
		a.WithLock(func() {
			e, known := a.associations[q.Key()]
			out, ok = e.addOn, known && a.IsCurrent(e.readAt, since, q.Key())
		})
		return out, ok
	}
	out, err := sdk.CachedOrRead(ctx, a.ReadOptional, q.Key(), cached, func() error {
		addOn, err := a.readAddOn(sdk.WithOptional(ctx), q)
		if sdk.Code(err) == "WAFNonexistentItemException" && !a.isNewLoadBalancer(q.ARN) {
			return sdk.Wrap(failure.Gone, "read "+q.Key(), err)
		}
		if err == nil {
			a.SetAssociation(q, addOn)
		}
		return err
	})
	if f, err := sdk.AddOnFault(err); f != nil || err != nil {
		return observed.AddOn{Fault: f}, err
	}
	return out, nil
}

// isNewLoadBalancer reports whether this process created a load balancer within the settle window. AWS WAF and AWS Shield
// may not know the load balancer yet.
func (a *AddOns) isNewLoadBalancer(arn string) bool {
	lb, _ := a.inv.Resource(plan.LoadBalancer, arn)
	return a.IsYounger(lb.MadeAt, durations.SettleWindow)
}

// SetAssociation caches the association of a load balancer with the service q.Of, and removes old entries from the cache.
func (a *AddOns) SetAssociation(q model.AskAddOn, addOn observed.AddOn) {
	now := a.Config.Clock.Now()
	a.WithLock(func() {
		cache.Put(a.associations, q.Key(), association{addOn, now}, func(e association) bool { return now.Sub(e.readAt) > durations.UnchangingFactAge })
	})
}

// ForgetAssociation removes the association of a load balancer from the cache, so that the next run reads it again.
func (a *AddOns) ForgetAssociation(q model.AskAddOn) {
	a.WithLock(func() { delete(a.associations, q.Key()) })
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
	case model.ShieldAdvanced:
		res, err := a.API.Shield.DescribeProtection(ctx, &shield.DescribeProtectionInput{ResourceArn: aws.String(q.ARN)})
		if sdk.IsGone(err) {
			return out, nil
		}
		if err == nil && res.Protection != nil {
			out.ID, out.Name = aws.ToString(res.Protection.Id), aws.ToString(res.Protection.Name)
		}
		return out, err
	}
	return out, sdk.NewError(failure.Unknown, q.Key(), "unknown AWS service")
}

// lookUpWebACL returns the web ACL of the region with a name. It caches the list of all web ACLs, which answers the questions
// about all names. The result has no ARN if there is no such web ACL, and a Fault if the read is denied or fails.
func (a *AddOns) lookUpWebACL(ctx context.Context, name string) (observed.WebACL, error) {
	maxAge := func(arns map[string]string) time.Duration {
		if arns[name] != "" {
			return durations.CacheRetention
		}
		return durations.NotFoundAge
	}
	arns, err := a.webACLs.GetWithAge(ctx, "web acls", maxAge, a.listWebACLs)
	if f, err := sdk.AddOnFault(err); f != nil || err != nil {
		return observed.WebACL{Fault: f}, err
	}
	return observed.WebACL{ARN: arns[name]}, nil
}

func (a *AddOns) listWebACLs(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	in := &wafv2.ListWebACLsInput{Scope: waftypes.ScopeRegional, Limit: aws.Int32(100)}
	for {
		page, err := a.API.WAFv2.ListWebACLs(sdk.WithOptional(ctx), in)
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

// lookUpSubscription reads whether the account is subscribed to Shield Advanced. The result has a Fault if the read is denied
// or fails.
func (a *AddOns) lookUpSubscription(ctx context.Context) (*observed.Subscription, error) {
	out, err := a.subscriptions.Get(ctx, model.AskSubscription{}.Key(), durations.CacheRetention, func(ctx context.Context) (*observed.Subscription, error) {
		res, err := a.API.Shield.GetSubscriptionState(sdk.WithOptional(ctx), &shield.GetSubscriptionStateInput{})
		if err != nil {
			return nil, err
		}
		return &observed.Subscription{Active: res.SubscriptionState == shieldtypes.SubscriptionStateActive}, nil
	})
	if f, err := sdk.AddOnFault(err); f != nil || err != nil {
		return &observed.Subscription{Fault: f}, err
	}
	return out, nil
}

// lookUpTrustStores returns the ARNs of trust stores by name; the ARN is "" if the trust store does not exist. One call reads
// all trust stores that are not cached. If one of them does not exist, AWS refuses this call, and lookUpTrustStores makes a
// call for each name.
func (a *AddOns) lookUpTrustStores(ctx context.Context, names []string) (map[string]string, error) {
	cached := func() (out map[string]string, unknown []string) {
		out = map[string]string{}
		a.WithLock(func() {
			for _, n := range names {
				f, age := a.trustStores[n], durations.RarelyChangedAge
				if f.arn == "" {
					age = notFoundAge(cache.Count(a.trustStores, func(f cachedARN) bool { return f.arn == "" }))
				}
				if out[n] = f.arn; !a.IsYounger(f.readAt, age) {
					unknown = append(unknown, n)
				}
			}
		})
		return out, unknown
	}
	out, unknown := cached()
	if len(unknown) == 0 {
		return out, nil
	}
	err := a.ReadOptional(ctx, "trust stores "+strings.Join(unknown, ","), func() error {
		err := a.readTrustStores(ctx, unknown)
		if isMissingTrustStore(err) && len(unknown) == 1 {
			return nil
		}
		if !isMissingTrustStore(err) {
			return err
		}
		for _, n := range unknown {
			if err := a.readTrustStores(ctx, []string{n}); err != nil && !isMissingTrustStore(err) {
				return err
			}
		}
		return nil
	})
	out, _ = cached()
	return out, err
}

// isMissingTrustStore reports whether err means that no trust store has the name, or that AWS refuses the name as invalid.
func isMissingTrustStore(err error) bool { return err != nil && sdk.ClassOf(err) == failure.Invalid }

func (a *AddOns) readTrustStores(ctx context.Context, names []string) error {
	start := a.Config.Clock.Now()
	found := map[string]cachedARN{}
	for _, n := range names {
		found[n] = cachedARN{readAt: start}
	}
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), elb.NewDescribeTrustStoresPaginator(a.API.ELB, &elb.DescribeTrustStoresInput{Names: names})) {
		if err != nil {
			if isMissingTrustStore(err) && len(names) == 1 {
				a.cacheTrustStores(found)
			}
			return fmt.Errorf("find trust stores: %w", err)
		}
		for _, s := range page.TrustStores {
			found[aws.ToString(s.Name)] = cachedARN{aws.ToString(s.TrustStoreArn), start}
		}
	}
	a.cacheTrustStores(found)
	return nil
}

// cacheTrustStores caches trust stores by name, and removes old entries from the cache.
func (a *AddOns) cacheTrustStores(found map[string]cachedARN) {
	a.WithLock(func() {
		maps.DeleteFunc(a.trustStores, func(_ string, f cachedARN) bool { return !a.IsYounger(f.readAt, durations.CacheRetention) })
		maps.Copy(a.trustStores, found)
	})
}
