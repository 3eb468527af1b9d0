package cloud

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// certificateList is the one certificate that a call may carry, nil if there is none.
func certificateList(arn string) []elbtypes.Certificate {
	if arn == "" {
		return nil
	}
	return []elbtypes.Certificate{{CertificateArn: aws.String(arn)}}
}

// alpnPolicy is a policy in the form of calls, nil to leave it as it is.
func alpnPolicy(policy string) []string {
	if policy == "" {
		return nil
	}
	return []string{policy}
}

func (w *writer) createListener(ctx context.Context, a plan.CreateListener, known plan.Known) (plan.Result, error) {
	lb, err := lookup(known, a.LoadBalancer)
	if err != nil {
		return plan.Result{}, err
	}
	owned, err := w.inv.ownedLoadBalancer(lb)
	if err != nil {
		return plan.Result{}, err
	}
	actions, err := convert.ActionsToAWS(a.Settings.Default, groupARNs(known))
	if err != nil {
		return plan.Result{}, err
	}
	what := "create a listener on " + lb
	out, err := w.API.ELB.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: aws.String(lb), Port: aws.Int32(a.Settings.Port), Protocol: elbtypes.ProtocolEnum(a.Settings.Protocol),
		SslPolicy: convert.Optional(a.Settings.Policy), AlpnPolicy: alpnPolicy(a.Settings.ALPN), Certificates: certificateList(a.Settings.Certificate),
		MutualAuthentication: convert.MutualAuthToAWS(a.Settings.MutualAuth), DefaultActions: actions, Tags: convert.TagsToAWS(a.Tags),
	})
	if err != nil {
		forget := forgetDetail(lb)
		if sdk.IsGone(err) {
			forget = forgetBoth(lb)
		}
		return plan.Result{}, w.failure(what, err, w.inv.latest(owned.made, a.Settings.Default, known), forget)
	}
	if len(out.Listeners) != 1 {
		return plan.Result{}, sdk.Failed(engine.Unknown, what, "AWS returned %d listeners", len(out.Listeners))
	}
	l := convert.ListenerFromAWS(out.Listeners[0])
	if a.Tags != nil {
		l.Tags = a.Tags
	}
	now := w.Config.Now()
	w.inv.write(func() {
		e := w.inv.lbs.get(lb)
		if e == nil {
			return
		}
		if e.listeners[l.ARN] != nil {
			e.detailAt = time.Time{} // it was there before, with rules that are not known
		}
		w.inv.putListener(e, &listenerEntry{l: l, made: now, rules: map[string]observed.Rule{}})
		e.written = now
	})
	return plan.Result{ID: l.ARN}, nil
}

// forgetBoth is for a not-found that may mean the load balancer or a target group.
func forgetBoth(lb string) func(*inventory) {
	return func(v *inventory) {
		forgetDetail(lb)(v)
		forgetLoadBalancers(v)
		forgetTargetGroups(v)
	}
}

// latest is when the youngest of the things that actions need was made from here.
func (v *inventory) latest(made time.Time, actions []model.Action, known plan.Known) time.Time {
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			arn, err := groupARN(g.Group, known)
			if err != nil {
				continue
			}
			v.read(func() {
				if e := v.groups.get(arn); e != nil && e.made.After(made) {
					made = e.made
				}
			})
		}
	}
	return made
}

func (w *writer) modifyListener(ctx context.Context, a plan.ModifyListener, known plan.Known) error {
	arn, err := lookup(known, a.Listener)
	if err != nil {
		return err
	}
	made, err := w.inv.ownedListener(arn)
	if err != nil {
		return err
	}
	actions, err := convert.ActionsToAWS(a.Settings.Default, groupARNs(known))
	if err != nil {
		return err
	}
	in := &elb.ModifyListenerInput{
		ListenerArn: aws.String(arn), Port: aws.Int32(a.Settings.Port), Protocol: elbtypes.ProtocolEnum(a.Settings.Protocol),
		SslPolicy: convert.Optional(a.Settings.Policy), AlpnPolicy: alpnPolicy(a.Settings.ALPN), Certificates: certificateList(a.Settings.Certificate),
		MutualAuthentication: convert.MutualAuthToAWS(a.Settings.MutualAuth), DefaultActions: actions,
	}
	out, err := w.API.ELB.ModifyListener(ctx, in)
	if err != nil {
		return w.failure("modify listener "+arn, err, w.inv.latest(made, a.Settings.Default, known), forgetListener(arn))
	}
	now := w.Config.Now()
	w.inv.write(func() {
		e, le := w.inv.listener(arn)
		if le == nil || len(out.Listeners) != 1 {
			return
		}
		l := convert.ListenerFromAWS(out.Listeners[0])
		l.Certificates, l.Tags, l.Attributes = le.l.Certificates, le.l.Tags, le.l.Attributes
		if l.Protocol != le.l.Protocol {
			// Certificates come or go with the protocol, and attributes with them.
			e.detailAt, le.attributesAt = time.Time{}, time.Time{}
		}
		w.inv.changeListener(e, le, l)
		e.written = now
	})
	return nil
}

// changeCertificates runs a write on a listener's additional certificates and enters the result.
func (w *writer) changeCertificates(known plan.Known, a plan.Address, what string, write func(listener string) error, next func([]string) []string) error {
	arn, err := lookup(known, a)
	if err != nil {
		return err
	}
	made, err := w.inv.ownedListener(arn)
	if err != nil {
		return err
	}
	if err := write(arn); err != nil {
		return w.failure(what, err, made, forgetListener(arn))
	}
	w.inv.write(func() {
		if e, le := w.inv.listener(arn); le != nil {
			le.l.Certificates = next(le.l.Certificates)
			e.written = w.Config.Now()
		}
	})
	return nil
}

func (w *writer) addCertificate(ctx context.Context, a plan.AddCertificate, known plan.Known) error {
	return w.changeCertificates(known, a.Listener, "attach certificate "+a.ARN, func(arn string) error {
		_, err := w.API.ELB.AddListenerCertificates(ctx, &elb.AddListenerCertificatesInput{ListenerArn: aws.String(arn), Certificates: certificateList(a.ARN)})
		return err
	}, func(have []string) []string { return unique(append(slices.Clone(have), a.ARN)) })
}

func (w *writer) removeCertificate(ctx context.Context, a plan.RemoveCertificate, known plan.Known) error {
	return w.changeCertificates(known, a.Listener, "detach certificate "+a.ARN, func(arn string) error {
		_, err := w.API.ELB.RemoveListenerCertificates(ctx, &elb.RemoveListenerCertificatesInput{ListenerArn: aws.String(arn), Certificates: certificateList(a.ARN)})
		return err
	}, func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(s string) bool { return s == a.ARN })
	})
}

// deleteListener deletes a listener with its rules; one that is gone already is a success.
func (w *writer) deleteListener(ctx context.Context, a plan.DeleteListener) error {
	if _, err := w.inv.ownedListener(a.ARN); err != nil {
		if sdk.IsGone(err) {
			return nil
		}
		return err
	}
	_, err := w.API.ELB.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: aws.String(a.ARN)})
	if err != nil && !sdk.IsGone(err) {
		return w.failure("delete listener "+a.ARN, err, time.Time{}, forgetListener(a.ARN))
	}
	w.inv.write(func() {
		e, le := w.inv.listener(a.ARN)
		if le == nil {
			return
		}
		w.inv.dropListener(e, le)
		e.written = w.Config.Now()
	})
	return nil
}
