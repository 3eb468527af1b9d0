package apply

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// certificateList returns the list of certificates for a request: the certificate arn, or nil if arn is "".
func certificateList(arn string) []elbtypes.Certificate {
	if arn == "" {
		return nil
	}
	return []elbtypes.Certificate{{CertificateArn: aws.String(arn)}}
}

// alpnPolicy returns the list of ALPN policies for a request: the given policy, or nil if policy is "". If the list is nil,
// AWS does not change the policy of the listener.
func alpnPolicy(policy string) []string {
	if policy == "" {
		return nil
	}
	return []string{policy}
}

// listenerWriter creates, changes and deletes listeners, and changes their certificates.
type listenerWriter struct {
	*dependencies
	certificates *certificates.Certificates
}

// handleCertificateFailure returns the error of a failed write on a listener, as handleFailure does. If AWS does not accept
// a new certificate, the error has the class NotReady, because Elastic Load Balancing may not know the certificate yet.
func (w *listenerWriter) handleCertificateFailure(what, certificate string, err error, made time.Time, forget func(v *inventory.Inventory)) error {
	switch sdk.Code(err) {
	case "CertificateNotFound", "UnsupportedCertificate":
		if w.certificates.IsNew(certificate) {
			return sdk.Wrap(failure.NotReady, what, err)
		}
	}
	return w.handleFailure(what, err, made, forget)
}

func (w *listenerWriter) createListener(ctx context.Context, a plan.CreateListener, known plan.KnownIDs) (plan.StepResult, error) {
	lb, made, err := w.lookupOwnedID(known, a.LoadBalancer)
	if err != nil {
		return plan.StepResult{}, err
	}
	actions, err := convert.ActionsToAWS(a.Settings.Default, targetGroupARNs(known))
	if err != nil {
		return plan.StepResult{}, err
	}
	what := "create a listener on " + lb
	out, err := w.API.ELB.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: aws.String(lb), Port: aws.Int32(a.Settings.Port), Protocol: elbtypes.ProtocolEnum(a.Settings.Protocol),
		SslPolicy: convert.NilIfEmpty(a.Settings.Policy), AlpnPolicy: alpnPolicy(a.Settings.ALPN), Certificates: certificateList(a.Settings.Certificate),
		MutualAuthentication: convert.MutualAuthToAWS(a.Settings.MutualAuth), DefaultActions: actions, Tags: convert.TagsToAWS(a.Tags),
	})
	if err != nil {
		return plan.StepResult{}, w.handleCertificateFailure(what, a.Settings.Certificate, err, latestCreationTime(w.inv, made, a.Settings.Default, known), func(v *inventory.Inventory) {
			if e := v.LoadBalancers.Get(lb); e != nil {
				e.DetailAt = time.Time{}
			}
			if sdk.IsGone(err) { // the load balancer or a target group does not exist
				v.ForgetList(inventory.LoadBalancerList)
				v.ForgetList(inventory.TargetGroupList)
			}
		})
	}
	if len(out.Listeners) != 1 {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, what, "AWS returned %d listeners", len(out.Listeners))
	}
	l := convert.ListenerFromAWS(out.Listeners[0])
	if a.Tags != nil {
		l.Tags = a.Tags
	}
	now := w.Config.Clock.Now()
	w.inv.WithWriteLock(func() {
		e := w.inv.LoadBalancers.Get(lb)
		if e == nil {
			return
		}
		if e.Listeners[l.ARN] != nil {
			e.DetailAt = time.Time{} // the listener existed before this call, and may have rules that are not in the inventory
		}
		w.inv.PutListener(e, &inventory.Listener{Seen: l, MadeAt: now, Rules: map[string]observed.Rule{}})
		e.WrittenAt = now
	})
	return plan.StepResult{ID: l.ARN}, nil
}

// latestCreationTime returns the latest of made and the creation times of the target groups to which actions forward. Only
// target groups that this process created have a creation time.
func latestCreationTime(v *inventory.Inventory, made time.Time, actions []model.Action, known plan.KnownIDs) time.Time {
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			arn, err := targetGroupARN(g.Group, known)
			if err != nil {
				continue
			}
			v.WithReadLock(func() {
				if e := v.TargetGroups.Get(arn); e != nil && e.MadeAt.After(made) {
					made = e.MadeAt
				}
			})
		}
	}
	return made
}

func (w *listenerWriter) modifyListener(ctx context.Context, a plan.ModifyListener, known plan.KnownIDs) error {
	arn, made, err := w.lookupOwnedID(known, a.Listener)
	if err != nil {
		return err
	}
	actions, err := convert.ActionsToAWS(a.Settings.Default, targetGroupARNs(known))
	if err != nil {
		return err
	}
	in := &elb.ModifyListenerInput{
		ListenerArn: aws.String(arn), Port: aws.Int32(a.Settings.Port), Protocol: elbtypes.ProtocolEnum(a.Settings.Protocol),
		SslPolicy: convert.NilIfEmpty(a.Settings.Policy), AlpnPolicy: alpnPolicy(a.Settings.ALPN), Certificates: certificateList(a.Settings.Certificate),
		MutualAuthentication: convert.MutualAuthToAWS(a.Settings.MutualAuth), DefaultActions: actions,
	}
	out, err := w.API.ELB.ModifyListener(ctx, in)
	if err != nil {
		return w.handleCertificateFailure("modify listener "+arn, a.Settings.Certificate, err, latestCreationTime(w.inv, made, a.Settings.Default, known), forgetFunc(plan.Listener, arn))
	}
	now := w.Config.Clock.Now()
	w.inv.WithWriteLock(func() {
		e, le := w.inv.Listener(arn)
		if le == nil || len(out.Listeners) != 1 {
			return
		}
		l := convert.ListenerFromAWS(out.Listeners[0])
		l.Certificates, l.Tags, l.Attributes = le.Seen.Certificates, le.Seen.Tags, le.Seen.Attributes
		if l.Protocol != le.Seen.Protocol {
			// The protocol determines whether the listener has certificates, and which attributes it has.
			e.DetailAt, le.AttributesAt = time.Time{}, time.Time{}
		}
		w.inv.ChangeListener(e, le, l)
		e.WrittenAt = now
	})
	return nil
}

// changeCertificates adds a certificate to a listener or removes it: call makes the call with the ARN of the listener, and
// update returns the new list of additional certificates for the inventory. operation describes the call in errors.
func (w *listenerWriter) changeCertificates(known plan.KnownIDs, a plan.Address, operation, certificateARN string, call func(listenerARN string) error, update func([]string) []string) error {
	arn, made, err := w.lookupOwnedID(known, a)
	if err != nil {
		return err
	}
	if err := call(arn); err != nil {
		return w.handleCertificateFailure(operation, certificateARN, err, made, forgetFunc(plan.Listener, arn))
	}
	w.inv.WithWriteLock(func() {
		if e, le := w.inv.Listener(arn); le != nil {
			le.Seen.Certificates = update(le.Seen.Certificates)
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
	return nil
}

func (w *listenerWriter) addCertificate(ctx context.Context, a plan.AddCertificate, known plan.KnownIDs) error {
	return w.changeCertificates(known, a.Listener, "attach certificate "+a.ARN, a.ARN, func(arn string) error {
		_, err := w.API.ELB.AddListenerCertificates(ctx, &elb.AddListenerCertificatesInput{ListenerArn: aws.String(arn), Certificates: certificateList(a.ARN)})
		return err
	}, func(have []string) []string { return sdk.SortedUnique(append(slices.Clone(have), a.ARN)) })
}

func (w *listenerWriter) removeCertificate(ctx context.Context, a plan.RemoveCertificate, known plan.KnownIDs) error {
	return w.changeCertificates(known, a.Listener, "detach certificate "+a.ARN, a.ARN, func(arn string) error {
		_, err := w.API.ELB.RemoveListenerCertificates(ctx, &elb.RemoveListenerCertificatesInput{ListenerArn: aws.String(arn), Certificates: certificateList(a.ARN)})
		return err
	}, func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(s string) bool { return s == a.ARN })
	})
}

// deleteListener deletes a listener with its rules.
func (w *listenerWriter) deleteListener(ctx context.Context, a plan.DeleteListener) error {
	return w.deleteOwned(plan.Listener, a.ARN, func() error {
		_, err := w.API.ELB.DeleteListener(ctx, &elb.DeleteListenerInput{ListenerArn: aws.String(a.ARN)})
		return err
	}, func() {
		if e, le := w.inv.Listener(a.ARN); le != nil {
			w.inv.DropListener(e, le)
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
}
