// Package facts answers what a stack asks of things that are not its own.
package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/enis"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/targets"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Facts answers the questions of a stack.
type Facts struct {
	*sdk.Client
	inv    *inventory.Inventory
	reader *observe.Reader

	network      *networkFacts
	names        *nameFacts
	certificates *certificates.Certificates
	addOns       *AddOns
	targets      *targets.Targets
	endpoints    *enis.ENIs
}

// New answers from the parts of the cloud that know the subjects of questions.
func New(at *sdk.Client, inv *inventory.Inventory, r *observe.Reader, ends *enis.ENIs, c *certificates.Certificates, a *AddOns, t *targets.Targets) *Facts {
	return &Facts{
		Client: at, inv: inv, reader: r, network: &networkFacts{Client: at}, names: &nameFacts{Client: at, inv: inv},
		certificates: c, addOns: a, targets: t, endpoints: ends,
	}
}

// Reset drops all that was read.
func (f *Facts) Reset() {
	f.network.reset()
	f.names.reset()
	f.certificates.Reset()
	f.addOns.reset()
	f.targets.Reset()
}

// Answer fills in the facts that a question asks for, and leaves out what does not exist. What the plan compares with is
// read again if it was read before since.
func (f *Facts) Answer(ctx context.Context, id model.StackID, out *observed.Stack, q model.Question, since time.Time) (err error) {
	facts := &out.Facts
	switch q := q.(type) {
	case model.AskSubnets:
		if q.Discover != "" && hasLoadBalancerFor(*out, q) {
			return nil // what is live keeps its subnets
		}
		return answered(facts.Subnets, q.Key())(f.network.askSubnets(ctx, q, f.maxAge(*out)))
	case model.AskVPC:
		facts.VPCRanges, err = f.endpoints.VPCRanges(ctx, f.VPC)
	case model.AskGroups:
		return answered(facts.Groups, q.Key())(f.names.askGroups(ctx, q))
	case model.AskCertificates:
		facts.Certificates, err = f.certificates.AskCertificates(ctx)
		facts.CertificatesAsked = err == nil
	case model.AskTargetGroup:
		err = answered(facts.TargetGroups, q.Ref)(f.names.askTargetGroup(ctx, q.Ref))
		arn := facts.TargetGroups[q.Ref]
		if namespace, known := namespaceOf(f.inv, arn); known {
			facts.TargetGroupOwners[arn] = namespace
		}
		return err
	case model.AskScheme:
		facts.Schemes[q.Key()] = f.inv.SchemeOf(q)
	case model.AskBackendGroup:
		f.reader.BackendGroup(out)
	case model.AskHealth:
		return answered(facts.Health, q.ARN)(f.targets.AskHealth(ctx, q.ARN))
	case model.AskOwnCertificates:
		facts.OwnCertificates, err = f.certificates.AskOwnCertificates(ctx, id)
		facts.OwnCertificatesAsked, facts.Imports = err == nil, f.certificates.Imports(id)
	case model.AskCertificateOwner:
		return answered(facts.CertificateOwners, q.ARN)(f.certificates.AskCertificateOwner(ctx, q))
	case model.AskHostedZones:
		facts.Zones, err = f.certificates.Zones.AskHostedZones(ctx, q)
	case model.AskValidation:
		return answered(facts.Validations, q.ARN)(f.certificates.AskValidation(ctx, q))
	case model.AskPublicCertificates:
		facts.PublicCertificates, err = f.certificates.AskPublicCertificates(ctx)
		facts.PublicCertificatesAsked = err == nil
	case model.AskALBTargets:
		return answered(facts.ALBTargets, q.ARN)(f.targets.AskALBTargets(ctx, q, since))
	case model.AskAddOn:
		return answered(facts.AddOns, q.Key())(f.addOns.askAddOn(ctx, q, since))
	case model.AskWebACL:
		return answered(facts.WebACLs, q.Name)(f.addOns.askWebACL(ctx, q.Name))
	case model.AskSubscription:
		facts.Subscription, err = f.addOns.askSubscription(ctx)
	case model.AskTrustStores:
		facts.TrustStores, err = f.addOns.askTrustStores(ctx, strings.Split(q.Names, ","))
		if err != nil {
			facts.TrustStores = nil
		}
	case model.AskAdopted, model.AskAttributes, model.AskCapacity, model.AskState, model.AskListings, model.AskComparison, model.AskListenerCertificates, model.AskRuleTags, model.AskSecurityGroups:
		// Their answers are in the resources.
	default:
		err = fmt.Errorf("question %q is not known", q.Key())
	}
	return err
}

// answered enters an answer under its key unless there is none.
func answered[T any](into map[string]T, key string) func(T, error) error {
	return func(answer T, err error) error {
		if err == nil {
			into[key] = answer
		}
		return err
	}
}

// hasLoadBalancerFor reports whether the stack has a load balancer of the type and scheme that subnets are asked for.
func hasLoadBalancerFor(s observed.Stack, q model.AskSubnets) bool {
	of := model.Application
	if q.NLB {
		of = model.Network
	}
	return slices.ContainsFunc(s.LoadBalancers, func(lb observed.LoadBalancer) bool {
		return lb.Scheme == q.Discover && lb.Type == of.String() && s.Live(lb.ResourceID).ARN == lb.ARN
	})
}

// maxAge returns how old facts of the network may be: where nothing is to be made they only confirm
// what is there.
func (f *Facts) maxAge(s observed.Stack) time.Duration {
	if s.Live(model.LoadBalancerID) != nil {
		return f.Config.Refresh
	}
	return time.Minute
}
