package cloud

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
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// detail makes sure that a load balancer's listeners with their rules, certificates and tags are
// known. Not found may be the load balancer as well as a listener: the error has class Gone.
func (r *reader) detail(ctx context.Context, arn string, b model.AskComparison) error {
	stale := func() (out bool) {
		r.inv.read(func() {
			e := r.inv.lbs.get(arn)
			out = e != nil && (!r.Current(e.detailAt, b.Since, arn) || r.Config.RuleTags && !e.ruleTagsDue && e.ruleTagsAt.Before(b.TagsSince))
		})
		return out
	}
	if !stale() {
		return nil
	}
	// Without the listeners and their rules it is not known what there is to change: essential.
	err := r.Essential(ctx, "detail "+arn, func() error {
		if !stale() {
			return nil
		}
		known, at := r.ruleTags(arn, b.TagsSince)
		return r.readDetail(ctx, arn, b.Since, known, at)
	})
	if err != nil {
		return fmt.Errorf("read listeners of %s: %w", arn, err)
	}
	return nil
}

// partialDetail is what a reading of listeners that was cut short has seen since its start. The next one
// goes on from there.
type partialDetail struct {
	start     time.Time
	listeners map[string]*listenerEntry
	done      map[string]bool // listeners with rules and certificates
}

// readDetail reads them, if they were not read since a time by a reading that was cut short. Tags that
// are known, which were read at a time, are kept.
func (r *reader) readDetail(ctx context.Context, arn string, since time.Time, known map[string]map[string]string, tagsAt time.Time) error {
	var seen *partialDetail
	r.inv.read(func() {
		if e := r.inv.lbs.get(arn); e != nil && e.partial != nil && r.Current(e.partial.start, since, arn) && !e.written.After(e.partial.start) && !e.distrusted {
			seen = e.partial
		}
	})
	if seen == nil {
		seen = &partialDetail{start: r.Config.Now(), listeners: map[string]*listenerEntry{}, done: map[string]bool{}}
		if err := r.describeListeners(ctx, arn, seen.listeners); err != nil {
			return err
		}
	}
	err := r.readListeners(ctx, arn, seen, known, tagsAt)
	r.inv.write(func() {
		if e := r.inv.lbs.get(arn); e != nil {
			if e.partial = nil; err != nil && !sdk.IsGone(err) {
				e.partial = seen
			}
		}
	})
	return err
}

func (r *reader) describeListeners(ctx context.Context, arn string, listeners map[string]*listenerEntry) error {
	pages := elb.NewDescribeListenersPaginator(r.API.ELB, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(arn)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, l := range page.Listeners {
			x := convert.ListenerFromAWS(l)
			listeners[x.ARN] = &listenerEntry{l: x}
		}
	}
	return nil
}

// readListeners reads what is on the listeners that were seen, and enters them.
func (r *reader) readListeners(ctx context.Context, arn string, seen *partialDetail, known map[string]map[string]string, tagsAt time.Time) error {
	start, listeners := seen.start, seen.listeners
	for _, id := range slices.Sorted(maps.Keys(listeners)) {
		if seen.done[id] {
			continue
		}
		le := listeners[id]
		if le.l.Protocol == string(elbtypes.ProtocolEnumHttp) || le.l.Protocol == string(elbtypes.ProtocolEnumHttps) {
			rules, err := r.describeRules(ctx, id)
			if err != nil {
				return err
			}
			le.rules = rules
		}
		if le.l.Policy != "" {
			le.certificatesDue = true
			err := r.readCertificatesOf(ctx, le)
			if err != nil && sdk.FaultOf(err) == nil {
				return err
			}
		}
		seen.done[id] = true
	}
	tagsDue := r.Config.RuleTags
	if tagsDue {
		err := r.Gated(ctx, model.AskRuleTags{ARN: arn}.Key(), func() error { return r.tagDetail(ctx, listeners, known) })
		if err != nil && sdk.FaultOf(err) == nil {
			return err
		}
		tagsDue = err != nil
	}
	r.inv.write(func() {
		e := r.inv.lbs.get(arn)
		if e == nil || e.written.After(start) {
			return // the next look reads again
		}
		r.inv.foreign.listeners(e, listeners, start)
		for id, le := range listeners {
			if old := e.listeners[id]; old != nil {
				le.l.Attributes, le.attributesAt, le.made = old.l.Attributes, old.attributesAt, old.made
			}
		}
		r.inv.setListeners(e, listeners)
		e.detailAt, e.distrusted, e.ruleTagsDue = start, false, tagsDue
		if e.ruleTagsAt = tagsAt; known == nil && !tagsDue {
			e.ruleTagsAt = start
		}
	})
	return nil
}

// ruleTags are the tags of a load balancer's listeners and rules, by ARN, and when they were read; nil
// if they may not be compared with.
func (r *reader) ruleTags(lb string, since time.Time) (known map[string]map[string]string, at time.Time) {
	if known, at = r.lastRuleTags(lb); !r.Current(at, since, lb) {
		return nil, time.Time{}
	}
	return known, at
}

// lastRuleTags are those tags as they were read last.
func (r *reader) lastRuleTags(lb string) (known map[string]map[string]string, at time.Time) {
	r.inv.read(func() {
		e := r.inv.lbs.get(lb)
		if e == nil || e.ruleTagsDue || e.ruleTagsAt.IsZero() {
			return
		}
		known, at = map[string]map[string]string{}, e.ruleTagsAt
		for id, le := range e.listeners {
			known[id] = le.l.Tags
			for arn, r := range le.rules {
				known[arn] = r.Tags
			}
		}
	})
	return known, at
}

// complete reads what was missing when the listeners of a load balancer were read, and notes what
// is missing still.
func (r *reader) complete(ctx context.Context, arn string, faults faults) error {
	var due []string // listeners
	tagsDue := false
	r.inv.read(func() {
		if e := r.inv.lbs.get(arn); e != nil {
			tagsDue = e.ruleTagsDue
			for id, le := range e.listeners {
				if le.certificatesDue {
					due = append(due, id)
				}
			}
		}
	})
	slices.Sort(due)
	for _, id := range due {
		q := model.AskListenerCertificates{ARN: id}
		err := r.Optional(ctx, q.Key(), func() error { return r.completeCertificates(ctx, id) })
		if err := faults.note(q, err); err != nil {
			return err
		}
	}
	if !tagsDue {
		return nil
	}
	q := model.AskRuleTags{ARN: arn}
	return faults.note(q, r.Optional(ctx, q.Key(), func() error { return r.completeTags(ctx, arn) }))
}

// readCertificatesOf reads the additional certificates of a listener, where they are due.
func (r *reader) readCertificatesOf(ctx context.Context, le *listenerEntry) error {
	return r.Gated(ctx, model.AskListenerCertificates{ARN: le.l.ARN}.Key(), func() error {
		certs, err := r.describeCertificates(ctx, le.l.ARN)
		if err == nil {
			le.l.Certificates, le.certificatesDue = certs, false
		}
		return err
	})
}

// completeCertificates reads the certificates of a listener that is in the inventory.
func (r *reader) completeCertificates(ctx context.Context, listener string) error {
	start := r.Config.Now()
	certs, err := r.describeCertificates(ctx, listener)
	if err != nil {
		return err
	}
	r.inv.write(func() {
		e, le := r.inv.listener(listener)
		if le == nil || e.written.After(start) {
			return // the next look reads again
		}
		le.l.Certificates, le.certificatesDue = certs, false
	})
	return nil
}

// completeTags reads the tags of listeners and rules that are in the inventory.
func (r *reader) completeTags(ctx context.Context, lb string) error {
	start := r.Config.Now()
	listeners := map[string]*listenerEntry{}
	r.inv.read(func() {
		if e := r.inv.lbs.get(lb); e != nil {
			for id, le := range e.listeners {
				own := *le
				own.rules = maps.Clone(le.rules)
				listeners[id] = &own
			}
		}
	})
	if err := r.tagDetail(ctx, listeners, nil); err != nil {
		return err
	}
	r.inv.write(func() {
		e := r.inv.lbs.get(lb)
		if e == nil || e.written.After(start) {
			return // the next look reads again
		}
		e.ruleTagsDue, e.ruleTagsAt = false, start
		for id, le := range e.listeners {
			read := listeners[id]
			if read == nil {
				continue
			}
			le.l.Tags = read.l.Tags
			for arn, r := range le.rules {
				if o, ok := read.rules[arn]; ok {
					r.Tags = o.Tags
					le.rules[arn] = r
				}
			}
		}
	})
	return nil
}

// describeRules reads the rules of a listener without the default rule, whose actions are the
// listener's own.
func (r *reader) describeRules(ctx context.Context, listener string) (map[string]observed.Rule, error) {
	out := map[string]observed.Rule{}
	pages := elb.NewDescribeRulesPaginator(r.API.ELB, &elb.DescribeRulesInput{ListenerArn: aws.String(listener)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
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

// describeCertificates reads the additional certificates of a listener. AWS shows the default
// certificate a second time if it is among them.
func (r *reader) describeCertificates(ctx context.Context, listener string) ([]string, error) {
	var out []string
	pages := elb.NewDescribeListenerCertificatesPaginator(r.API.ELB, &elb.DescribeListenerCertificatesInput{ListenerArn: aws.String(listener)})
	for pages.HasMorePages() {
		page, err := sdk.Brief(ctx, func(ctx context.Context) (*elb.DescribeListenerCertificatesOutput, error) { return pages.NextPage(ctx) })
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

// tagDetail reads the tags of listeners and rules that are not known, all in common batches.
func (r *reader) tagDetail(ctx context.Context, listeners map[string]*listenerEntry, known map[string]map[string]string) error {
	var arns []string
	for id, le := range listeners {
		arns = append(arns, id)
		arns = slices.AppendSeq(arns, maps.Keys(le.rules))
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return known[arn] != nil })
	tags, err := sdk.Brief(ctx, func(ctx context.Context) (map[string]map[string]string, error) {
		return describeTags(ctx, r.Client, arns)
	})
	if err != nil {
		return err
	}
	maps.Copy(tags, known)
	for id, le := range listeners {
		le.l.Tags = tags[id]
		for arn, r := range le.rules {
			r.Tags = tags[arn]
			le.rules[arn] = r
		}
	}
	return nil
}
