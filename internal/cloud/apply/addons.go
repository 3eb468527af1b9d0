package apply

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	waf "github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/facts"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// addOnWriter changes the associations of load balancers with AWS WAF and AWS Shield.
type addOnWriter struct {
	*dependencies
	addOns *facts.AddOns
}

// changeAssociation calls write to change the association of a load balancer with an add-on service, and caches the
// association that write returns. After a failure it removes the association from the cache, so that the next run reads it
// again.
func (w *addOnWriter) changeAssociation(ctx context.Context, known plan.KnownIDs, a plan.Address, of model.AddOn, what string, write func(ctx context.Context, arn string) (observed.AddOn, error)) error {
	arn, made, err := w.lookupOwnedID(known, a)
	if err != nil {
		return err
	}
	q := model.AskAddOn{Of: of, ARN: arn}
	got, err := write(sdk.WithOptional(ctx), arn)
	if err != nil {
		w.addOns.ForgetAssociation(q)
		return w.handleAssociationFailure(of, what, err, made)
	}
	w.addOns.SetAssociation(q, got)
	return nil
}

// handleAssociationFailure returns the error of a failed write with its class. A not-found error gets the class NotReady if
// the load balancer is new, because AWS WAF or AWS Shield may not know it yet. Otherwise it gets the class Invalid, because
// the web ACL probably does not exist. made is the time at which this process created the load balancer, zero if it did not.
func (w *addOnWriter) handleAssociationFailure(of model.AddOn, what string, err error, made time.Time) error {
	switch sdk.Code(err) {
	case "WAFNonexistentItemException", "ResourceNotFoundException":
		if w.IsYounger(made, durations.SettleWindow) {
			return sdk.Wrap(failure.NotReady, what, err)
		}
		var reason finding.Reason
		if of == model.WAFv2 {
			reason = finding.WebACLNotFound
		}
		return sdk.Wrap(failure.Invalid, what, err).WithReason(reason)
	}
	return w.handleFailure(what, err, made, nil)
}

func (w *addOnWriter) setWebACL(ctx context.Context, a plan.SetWebACL, known plan.KnownIDs) error {
	what := "associate web ACL " + a.ARN
	if a.ARN == "" {
		what = "dissociate the web ACL"
	}
	return w.changeAssociation(ctx, known, a.LoadBalancer, model.WAFv2, what, func(ctx context.Context, arn string) (observed.AddOn, error) {
		var err error
		if a.ARN == "" {
			_, err = w.API.WAFv2.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: aws.String(arn)})
		} else {
			_, err = w.API.WAFv2.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: aws.String(arn), WebACLArn: aws.String(a.ARN)})
		}
		return observed.AddOn{ID: a.ARN}, err
	})
}

func (w *addOnWriter) setClassicACL(ctx context.Context, a plan.SetClassicACL, known plan.KnownIDs) error {
	what := "associate classic web ACL " + a.ID
	if a.ID == "" {
		what = "dissociate the classic web ACL"
	}
	return w.changeAssociation(ctx, known, a.LoadBalancer, model.WAFClassic, what, func(ctx context.Context, arn string) (observed.AddOn, error) {
		var err error
		if a.ID == "" {
			_, err = w.API.WAF.DisassociateWebACL(ctx, &waf.DisassociateWebACLInput{ResourceArn: aws.String(arn)})
		} else {
			_, err = w.API.WAF.AssociateWebACL(ctx, &waf.AssociateWebACLInput{ResourceArn: aws.String(arn), WebACLId: aws.String(a.ID)})
		}
		return observed.AddOn{ID: a.ID}, err
	})
}

func (w *addOnWriter) createShieldProtection(ctx context.Context, a plan.CreateProtection, known plan.KnownIDs) (plan.StepResult, error) {
	var id string
	err := w.changeAssociation(ctx, known, a.LoadBalancer, model.ShieldAdvanced, "create the Shield protection of the load balancer", func(ctx context.Context, arn string) (observed.AddOn, error) {
		out, err := w.API.Shield.CreateProtection(ctx, &shield.CreateProtectionInput{Name: aws.String(a.Name), ResourceArn: aws.String(arn)})
		if err != nil {
			return observed.AddOn{}, err
		}
		id = aws.ToString(out.ProtectionId)
		return observed.AddOn{ID: id, Name: a.Name}, nil
	})
	return plan.StepResult{ID: id}, err
}

// deleteShieldProtection deletes the Shield protection of a load balancer. It succeeds if the protection does not exist any
// more.
func (w *addOnWriter) deleteShieldProtection(ctx context.Context, a plan.DeleteProtection, known plan.KnownIDs) error {
	return w.changeAssociation(ctx, known, a.LoadBalancer, model.ShieldAdvanced, "delete the Shield protection of the load balancer", func(ctx context.Context, _ string) (observed.AddOn, error) {
		_, err := w.API.Shield.DeleteProtection(ctx, &shield.DeleteProtectionInput{ProtectionId: aws.String(a.ID)})
		return observed.AddOn{}, sdk.IgnoreGone(err)
	})
}
