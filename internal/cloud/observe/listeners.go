package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// listenerReader reads listeners with their rules, certificates and tags.
type listenerReader struct {
	*sdk.Client
	inv *inventory.Inventory
}

// refreshDetail reads the listeners of a load balancer with their rules, certificates and tags, unless they are fresh and
// were not read before the times in b. The error has the class Gone if the load balancer or one of its listeners does not
// exist.
func (r *listenerReader) refreshDetail(ctx context.Context, arn string, b model.AskComparison) error {
	fresh := func() (ok bool) {
		r.inv.WithReadLock(func() {
			e := r.inv.LoadBalancers.Get(arn)
			ok = e == nil || r.IsCurrent(e.DetailAt, b.Since, arn) && !(r.Config.RuleTags && !e.RuleTagsDue && e.RuleTagsAt.Before(b.TagsSince))
		})
		return ok
	}
	// The read is essential: without the listeners and their rules the plan cannot determine changes.
	err := sdk.ReadOnce(ctx, r.ReadEssential, "detail "+arn, fresh, func() error {
		known, at := r.ruleTags(arn, b.TagsSince)
		return r.readDetail(ctx, arn, b.Since, known, at)
	})
	if err != nil {
		return fmt.Errorf("read listeners of %s: %w", arn, err)
	}
	return nil
}

// readDetail reads the listeners of a load balancer with their rules, certificates and tags. It resumes an interrupted read,
// unless that read began before the time since. known has tags, by ARN, that were read at tagsAt and are not read again.
func (r *listenerReader) readDetail(ctx context.Context, arn string, since time.Time, known map[string]map[string]string, tagsAt time.Time) error {
	var seen *inventory.PartialDetail
	r.inv.WithReadLock(func() {
		if e := r.inv.LoadBalancers.Get(arn); e != nil && e.PartialDetail != nil && r.IsCurrent(e.PartialDetail.Start, since, arn) && !e.WrittenAt.After(e.PartialDetail.Start) && !e.Invalidated {
			seen = e.PartialDetail
		}
	})
	if seen == nil {
		seen = &inventory.PartialDetail{Start: r.Config.Clock.Now(), Listeners: map[string]*inventory.Listener{}, Done: map[string]bool{}}
		if err := r.describeListeners(ctx, arn, seen.Listeners); err != nil {
			return err
		}
	}
	err := r.readListeners(ctx, arn, seen, known, tagsAt)
	r.inv.WithWriteLock(func() {
		if e := r.inv.LoadBalancers.Get(arn); e != nil {
			if e.PartialDetail = nil; err != nil && !sdk.IsGone(err) {
				e.PartialDetail = seen
			}
		}
	})
	return err
}

func (r *listenerReader) describeListeners(ctx context.Context, arn string, listeners map[string]*inventory.Listener) error {
	for page, err := range sdk.Pages(ctx, elb.NewDescribeListenersPaginator(r.API.ELB, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(arn)})) {
		if err != nil {
			return err
		}
		for _, l := range page.Listeners {
			x := convert.ListenerFromAWS(l)
			listeners[x.ARN] = &inventory.Listener{Seen: x}
		}
	}
	return nil
}

// readListeners reads the rules, certificates and tags of the listeners in seen, and stores the listeners in the inventory.
func (r *listenerReader) readListeners(ctx context.Context, arn string, seen *inventory.PartialDetail, known map[string]map[string]string, tagsAt time.Time) error {
	start, listeners := seen.Start, seen.Listeners
	for _, id := range slices.Sorted(maps.Keys(listeners)) {
		if seen.Done[id] {
			continue
		}
		le := listeners[id]
		if le.Seen.Protocol == string(elbtypes.ProtocolEnumHttp) || le.Seen.Protocol == string(elbtypes.ProtocolEnumHttps) {
			rules, err := r.describeRules(ctx, id)
			if err != nil {
				return err
			}
			le.Rules = rules
		}
		if le.Seen.Policy != "" {
			le.CertificatesDue = true
			err := r.readCertificatesOf(ctx, le)
			if err != nil && sdk.FaultOf(err) == nil {
				return err
			}
		}
		seen.Done[id] = true
	}
	tagsDue := r.Config.RuleTags
	if tagsDue {
		err := r.ReadOptionalPart(ctx, model.AskRuleTags{ARN: arn}.Key(), func() error { return r.setDetailTags(ctx, listeners, known) })
		if err != nil && sdk.FaultOf(err) == nil {
			return err
		}
		tagsDue = err != nil
	}
	r.inv.WithWriteLock(func() {
		e := r.inv.LoadBalancers.Get(arn)
		if e == nil || e.WrittenAt.After(start) {
			return // the load balancer was changed during the read: the next run reads the listeners again
		}
		r.inv.OutsideChanges.CompareListeners(e, listeners, start)
		for id, le := range listeners {
			if old := e.Listeners[id]; old != nil {
				le.Seen.Attributes, le.AttributesAt, le.MadeAt = old.Seen.Attributes, old.AttributesAt, old.MadeAt
			}
		}
		r.inv.SetListeners(e, listeners)
		e.DetailAt, e.Invalidated, e.RuleTagsDue = start, false, tagsDue
		if e.RuleTagsAt = tagsAt; known == nil && !tagsDue {
			e.RuleTagsAt = start
		}
	})
	return nil
}

// ruleTags returns the tags of the listeners and rules of a load balancer, by ARN, and when they were read. It returns nil
// if they are not fresh or were read before the time since.
func (r *listenerReader) ruleTags(lb string, since time.Time) (known map[string]map[string]string, at time.Time) {
	if known, at = r.lastRuleTags(lb); !r.IsCurrent(at, since, lb) {
		return nil, time.Time{}
	}
	return known, at
}

// lastRuleTags returns the tags of the listeners and rules of a load balancer, by ARN, and when they were last read. It
// returns nil if they were not read.
func (r *listenerReader) lastRuleTags(lb string) (known map[string]map[string]string, at time.Time) {
	r.inv.WithReadLock(func() {
		e := r.inv.LoadBalancers.Get(lb)
		if e == nil || e.RuleTagsDue || e.RuleTagsAt.IsZero() {
			return
		}
		known, at = map[string]map[string]string{}, e.RuleTagsAt
		for id, le := range e.Listeners {
			known[id] = le.Seen.Tags
			for arn, r := range le.Rules {
				known[arn] = r.Tags
			}
		}
	})
	return known, at
}

// readMissing reads the certificates and tags that could not be read with the listeners of a load balancer. It records a
// fault for each read that fails.
func (r *listenerReader) readMissing(ctx context.Context, arn string, faults Faults) error {
	var due []string // listeners
	tagsDue := false
	r.inv.WithReadLock(func() {
		if e := r.inv.LoadBalancers.Get(arn); e != nil {
			tagsDue = e.RuleTagsDue
			for id, le := range e.Listeners {
				if le.CertificatesDue {
					due = append(due, id)
				}
			}
		}
	})
	slices.Sort(due)
	for _, id := range due {
		q := model.AskListenerCertificates{ARN: id}
		err := r.ReadOptional(ctx, q.Key(), func() error { return r.readMissingCertificates(ctx, id) })
		if err := faults.Add(q, err); err != nil {
			return err
		}
	}
	if !tagsDue {
		return nil
	}
	q := model.AskRuleTags{ARN: arn}
	return faults.Add(q, r.ReadOptional(ctx, q.Key(), func() error { return r.readMissingTags(ctx, arn) }))
}

// readCertificatesOf reads the additional certificates of a listener that is not in the inventory yet.
func (r *listenerReader) readCertificatesOf(ctx context.Context, le *inventory.Listener) error {
	return r.ReadOptionalPart(ctx, model.AskListenerCertificates{ARN: le.Seen.ARN}.Key(), func() error {
		certs, err := r.describeCertificates(ctx, le.Seen.ARN)
		if err == nil {
			le.Seen.Certificates, le.CertificatesDue = certs, false
		}
		return err
	})
}

// readMissingCertificates reads the certificates of a listener that is in the inventory.
func (r *listenerReader) readMissingCertificates(ctx context.Context, listener string) error {
	start := r.Config.Clock.Now()
	certs, err := r.describeCertificates(ctx, listener)
	if err != nil {
		return err
	}
	r.inv.WithWriteLock(func() {
		e, le := r.inv.Listener(listener)
		if le == nil || e.WrittenAt.After(start) {
			return // the load balancer was changed during the read: the next run reads the certificates again
		}
		le.Seen.Certificates, le.CertificatesDue = certs, false
	})
	return nil
}

// readMissingTags reads the tags of listeners and rules that are in the inventory.
func (r *listenerReader) readMissingTags(ctx context.Context, lb string) error {
	start := r.Config.Clock.Now()
	listeners := map[string]*inventory.Listener{}
	r.inv.WithReadLock(func() {
		if e := r.inv.LoadBalancers.Get(lb); e != nil {
			for id, le := range e.Listeners {
				own := *le
				own.Rules = maps.Clone(le.Rules)
				listeners[id] = &own
			}
		}
	})
	if err := r.setDetailTags(ctx, listeners, nil); err != nil {
		return err
	}
	r.inv.WithWriteLock(func() {
		e := r.inv.LoadBalancers.Get(lb)
		if e == nil || e.WrittenAt.After(start) {
			return // the load balancer was changed during the read: the next run reads the tags again
		}
		e.RuleTagsDue, e.RuleTagsAt = false, start
		for id, le := range e.Listeners {
			read := listeners[id]
			if read == nil {
				continue
			}
			le.Seen.Tags = read.Seen.Tags
			for arn, r := range le.Rules {
				if o, ok := read.Rules[arn]; ok {
					r.Tags = o.Tags
					le.Rules[arn] = r
				}
			}
		}
	})
	return nil
}

// describeRules reads the rules of a listener, and returns them by ARN. It omits the default rule, because it is the same as
// the default actions of the listener.
func (r *listenerReader) describeRules(ctx context.Context, listener string) (map[string]observed.Rule, error) {
	out := map[string]observed.Rule{}
	for page, err := range sdk.Pages(ctx, elb.NewDescribeRulesPaginator(r.API.ELB, &elb.DescribeRulesInput{ListenerArn: aws.String(listener)})) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			if aws.ToBool(r.IsDefault) {
				continue
			}
			x, err := convert.RuleFromAWS(r)
			if err != nil {
				return nil, err
			}
			out[x.ARN] = x
		}
	}
	return out, nil
}

// describeCertificates reads the additional certificates of a listener. AWS also lists the default certificate. A
// certificate that is both the default certificate and an additional certificate is listed twice.
func (r *listenerReader) describeCertificates(ctx context.Context, listener string) ([]string, error) {
	var out []string
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), elb.NewDescribeListenerCertificatesPaginator(r.API.ELB, &elb.DescribeListenerCertificatesInput{ListenerArn: aws.String(listener)})) {
		if err != nil {
			return nil, err
		}
		for _, x := range page.Certificates {
			if !aws.ToBool(x.IsDefault) {
				out = append(out, aws.ToString(x.CertificateArn))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// setDetailTags sets the tags of listeners and rules. It uses the tags in known, and reads all other tags in batches.
func (r *listenerReader) setDetailTags(ctx context.Context, listeners map[string]*inventory.Listener, known map[string]map[string]string) error {
	var arns []string
	for id, le := range listeners {
		arns = append(arns, id)
		arns = slices.AppendSeq(arns, maps.Keys(le.Rules))
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return known[arn] != nil })
	tags, err := DescribeTags(sdk.WithOptional(ctx), r.Client, arns)
	if err != nil {
		return err
	}
	maps.Copy(tags, known)
	for id, le := range listeners {
		le.Seen.Tags = tags[id]
		for arn, r := range le.Rules {
			r.Tags = tags[arn]
			le.Rules[arn] = r
		}
	}
	return nil
}
