// Package facts answers questions of plans about AWS: it reads resources that do not belong to the stack, such as subnets
// and certificates, and some facts about resources of the stack, such as the health of targets.
package facts

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// Facts answers the questions of plans that need more than the resources in the observed state of the stack.
type Facts struct {
	*sdk.Client
	inv    *inventory.Inventory
	reader *observe.Reader

	network      *networkFacts
	names        *nameFacts
	certificates *certificates.Certificates
	addOns       *AddOns
	targets      *targets.Targets
	eniReader    *enis.ENIs
}

// New returns Facts that use the given readers. Reset must be called before the first use.
func New(client *sdk.Client, inv *inventory.Inventory, r *observe.Reader, eniReader *enis.ENIs, c *certificates.Certificates, a *AddOns, t *targets.Targets) *Facts {
	return &Facts{
		Client: client, inv: inv, reader: r, network: newNetworkFacts(client), names: newNameFacts(client, inv),
		certificates: c, addOns: a, targets: t, eniReader: eniReader,
	}
}

// Reset empties the caches of Facts, except the cache of ENIs.
func (f *Facts) Reset() {
	f.network.reset()
	f.names.reset()
	f.certificates.Reset()
	f.addOns.reset()
	f.targets.Reset()
}

// Answer reads the facts that question q needs, and stores them in out. Resources that do not exist are omitted. Facts that
// the plan compares with the desired state are read again if they were read earlier than the time since.
func (f *Facts) Answer(ctx context.Context, id model.StackID, out *observed.Stack, q model.Question, since time.Time) (err error) {
	facts := &out.Facts
	switch q := q.(type) {
	case model.AskSubnets:
		if q.Discover != "" && hasLoadBalancerFor(*out, q) {
			return nil // an existing load balancer keeps its subnets
		}
		return storeAnswer(facts.Subnets, q.Key())(f.network.lookUpSubnets(ctx, q, f.maxNetworkFactAge(*out)))
	case model.AskVPC:
		facts.VPCRanges, err = f.eniReader.VPCRanges(ctx, f.VPC)
	case model.AskNamedSecurityGroups:
		return storeAnswer(facts.SecurityGroups, q.Key())(f.names.lookUpSecurityGroups(ctx, q))
	case model.AskCertificates:
		facts.Certificates, err = f.certificates.LookUpCertificates(ctx)
		facts.CertificatesAsked = err == nil
	case model.AskTargetGroup:
		err = storeAnswer(facts.TargetGroups, q.Ref)(f.names.lookUpTargetGroup(ctx, q.Ref))
		arn := facts.TargetGroups[q.Ref]
		if namespace, known := namespaceOfTargetGroup(f.inv, arn); known {
			facts.TargetGroupOwners[arn] = namespace
		}
		return err
	case model.AskScheme:
		facts.Schemes[q.Key()] = f.inv.SchemeOf(q)
	case model.AskBackendSecurityGroup:
		f.reader.FindBackendSecurityGroup(out)
	case model.AskHealth:
		return storeAnswer(facts.Health, q.ARN)(f.targets.LookUpHealth(ctx, q.ARN))
	case model.AskOwnCertificates:
		facts.OwnCertificates, err = f.certificates.LookUpOwnCertificates(ctx, id)
		facts.OwnCertificatesAsked, facts.Imports = err == nil, f.certificates.CountImportedByOwner(id)
	case model.AskCertificateOwner:
		return storeAnswer(facts.CertificateOwners, q.ARN)(f.certificates.LookUpCertificateOwner(ctx, q))
	case model.AskHostedZones:
		facts.HostedZones, err = f.certificates.Zones.LookUpHostedZones(ctx, q)
	case model.AskValidation:
		return storeAnswer(facts.Validations, q.ARN)(f.certificates.LookUpValidation(ctx, q))
	case model.AskPublicCertificates:
		facts.PublicCertificates, err = f.certificates.LookUpPublicCertificates(ctx)
		facts.PublicCertificatesAsked = err == nil
	case model.AskALBTargets:
		return storeAnswer(facts.ALBTargets, q.ARN)(f.targets.LookUpALBTargets(ctx, q, since))
	case model.AskAddOn:
		return storeAnswer(facts.AddOns, q.Key())(f.addOns.lookUpAddOn(ctx, q, since))
	case model.AskWebACL:
		return storeAnswer(facts.WebACLs, q.Name)(f.addOns.lookUpWebACL(ctx, q.Name))
	case model.AskSubscription:
		facts.Subscription, err = f.addOns.lookUpSubscription(ctx)
	case model.AskTrustStores:
		var found map[string]string
		if found, err = f.addOns.lookUpTrustStores(ctx, q.Names); err == nil {
			maps.Copy(facts.TrustStores, found) // a stack can have several questions for trust stores
		}
	case model.AskAdopted, model.AskAttributes, model.AskCapacity, model.AskState, model.AskListings, model.AskComparison, model.AskListenerCertificates, model.AskRuleTags, model.AskSecurityGroups:
		// The answers to these questions are part of the observed resources.
	default:
		err = fmt.Errorf("unknown question %q", q.Key())
	}
	return err
}

// storeAnswer returns a function that stores an answer in the map into under key. If the function gets an error, it stores
// nothing and returns the error.
func storeAnswer[T any](into map[string]T, key string) func(T, error) error {
	return func(answer T, err error) error {
		if err == nil {
			into[key] = answer
		}
		return err
	}
}

// hasLoadBalancerFor reports whether the stack has a load balancer with the type and scheme in a question about subnets.
func hasLoadBalancerFor(s observed.Stack, q model.AskSubnets) bool {
	kind := model.Application
	if q.NLB {
		kind = model.Network
	}
	return slices.ContainsFunc(s.LoadBalancers, func(lb observed.LoadBalancer) bool {
		return lb.Scheme == q.Discover && lb.Type == kind.String() && s.LiveLoadBalancer(lb.ResourceID).ARN == lb.ARN
	})
}

// maxNetworkFactAge returns the maximum age of facts about the network. If the load balancer exists, older facts can be
// used, because the plan only compares these facts with the load balancer.
func (f *Facts) maxNetworkFactAge(s observed.Stack) time.Duration {
	if s.LiveLoadBalancer(model.LoadBalancerID) != nil {
		return f.Config.Refresh
	}
	return time.Minute
}
