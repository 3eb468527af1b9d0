package certificates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Zones caches the hosted zones of the account, and the DNS records that this process has created in them.
type Zones struct {
	*sdk.Client

	list *sdk.Answers[observed.HostedZones]

	cache.Guard
	// deniedChanges has the last change of a DNS record that AWS denied, by ID of the hosted zone. IAM policies often permit
	// changes of some hosted zones only.
	deniedChanges map[string]deniedChange
	// recordsCreatedAt has the time at which each record was created, or at which a record with its name was found to exist.
	recordsCreatedAt map[recordKey]time.Time
}

type recordKey struct{ name, value string }

// deniedChange is a change that AWS denied, with the time of the denial and the fault to report.
type deniedChange struct {
	fault *observed.Fault
	at    time.Time
}

// Reset empties the cache.
func (c *Zones) Reset() {
	c.list.Expire()
	c.WithLock(func() { c.deniedChanges, c.recordsCreatedAt = map[string]deniedChange{}, map[recordKey]time.Time{} })
}

// LookUpHostedZones returns the hosted zones of the account, from the cache or from Route 53. If the call is denied or fails,
// the result has a Fault and no zones. A zone has a WriteFault if AWS recently denied a change of a record in it.
func (c *Zones) LookUpHostedZones(ctx context.Context, q model.AskHostedZones) (*observed.HostedZones, error) {
	age := durations.EditableFactAge
	if q.Recent {
		age = durations.NotFoundAge
	}
	out, err := c.list.Get(ctx, model.AskHostedZones{}.Key(), age, c.readHostedZones)
	f, err := sdk.AddOnFault(err)
	if f != nil {
		out = observed.HostedZones{ListedAt: c.Config.Clock.Now(), Fault: f}
	}
	out.Zones = slices.Clone(out.Zones)
	c.WithLock(func() {
		for i := range out.Zones {
			out.Zones[i].WriteFault = c.deniedFault(out.Zones[i].ID)
		}
	})
	return &out, err
}

func (c *Zones) readHostedZones(ctx context.Context) (out observed.HostedZones, err error) {
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), route53.NewListHostedZonesPaginator(c.API.Route53, &route53.ListHostedZonesInput{})) {
		if err != nil {
			return out, err
		}
		for _, z := range page.HostedZones {
			out.Zones = append(out.Zones, observed.HostedZone{
				ID: strings.TrimPrefix(aws.ToString(z.Id), "/hostedzone/"), Name: strings.ToLower(strings.TrimSuffix(aws.ToString(z.Name), ".")),
				Private: z.Config != nil && z.Config.PrivateZone,
			})
		}
	}
	slices.SortFunc(out.Zones, func(a, b observed.HostedZone) int { return strings.Compare(a.ID, b.ID) })
	out.ListedAt = c.Config.Clock.Now()
	return out, nil
}

// deniedFault returns the fault of the last denied change of a record in a hosted zone, or nil if AWS denied no change in the
// last minutes. The caller holds the lock of the cache.
func (c *Zones) deniedFault(zone string) *observed.Fault {
	if d := c.deniedChanges[zone]; c.IsYounger(d.at, durations.LongestReadBackOff) {
		return d.fault
	}
	return nil
}

// wasRecentlyCreated reports whether a record was created, or found to exist, within durations.RarelyChangedAge.
func (c *Zones) wasRecentlyCreated(name, value string) (made bool) {
	// A user may delete the record later. After this age, the controller therefore creates the record again.
	c.WithLock(func() { made = c.IsYounger(c.recordsCreatedAt[recordKey{name, value}], durations.RarelyChangedAge) })
	return made
}

// forgetRecord removes a record from recordsCreatedAt, so that the next run creates it again.
func (c *Zones) forgetRecord(name, value string) {
	c.WithLock(func() { delete(c.recordsCreatedAt, recordKey{name, value}) })
}

// CreateRecord creates a DNS record. It also succeeds if a record with this name already exists. If the existing record has
// another value, ACM does not validate the certificate, and a finding reports this.
func (c *Zones) CreateRecord(ctx context.Context, a plan.CreateRecord) error {
	what := "create DNS record " + a.Name + " CNAME " + a.Value
	err := c.changeRecord(ctx, what, dnstypes.ChangeActionCreate, a)
	if err != nil && !isRefusedBatch(err, "but it already exists") {
		return err
	}
	c.WithLock(func() {
		cache.Put(c.recordsCreatedAt, recordKey{a.Name, a.Value}, c.Config.Clock.Now(), func(at time.Time) bool { return !c.IsYounger(at, durations.RarelyChangedAge) })
	})
	return nil
}

// DeleteRecord deletes a DNS record that validates a certificate of the cluster. It succeeds without a change if the record
// does not exist any more or if a user has changed it. It also succeeds if AWS denies the change, because a remaining record
// has no effect. In this case, the result has a note.
func (c *Certificates) DeleteRecord(ctx context.Context, a plan.DeleteRecord) (plan.StepResult, error) {
	what := "remove DNS record " + a.Name
	own, known := false, c.validations.Cached(model.AskValidation{ARN: a.Certificate}.Key())
	c.WithLock(func() { own = c.certs.isOwn(a.Certificate) })
	if !own || !slices.ContainsFunc(known.Records, func(r observed.DNSRecord) bool { return r.Name == a.Name && r.Value == a.Value }) {
		return plan.StepResult{}, sdk.NewError(failure.Conflict, what, "the record does not validate a certificate that cluster %s requested", c.Config.Cluster)
	}
	// A stack that still needs the record creates it again.
	c.Zones.forgetRecord(a.Name, a.Value)
	err := c.Zones.changeRecord(ctx, what, dnstypes.ChangeActionDelete, a.CreateRecord)
	switch {
	case err == nil, isRefusedBatch(err, "but it was not found"), isRefusedBatch(err, "do not match the current values"):
		return plan.StepResult{}, nil
	case sdk.ClassOf(err) == failure.Gone, sdk.ClassOf(err) == failure.Denied:
		return plan.StepResult{Note: a.Name + " was not removed: " + err.Error()}, nil
	}
	return plan.StepResult{}, err
}

// changeRecord sends one change of a DNS record. It does not combine changes in a batch to save calls, because a whole batch
// fails if one of its records already exists. If AWS recently denied a change in the same hosted zone, it returns that error
// without a call.
func (c *Zones) changeRecord(ctx context.Context, what string, action dnstypes.ChangeAction, r plan.CreateRecord) error {
	var denied *observed.Fault
	c.WithLock(func() { denied = c.deniedFault(r.Zone) })
	if denied != nil {
		return sdk.Wrap(failure.Denied, what, errors.New(denied.Message)).WithReason(finding.CertificatePending)
	}
	_, err := c.API.Route53.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: aws.String(r.Zone), ChangeBatch: &dnstypes.ChangeBatch{Changes: []dnstypes.Change{{
			Action: action, ResourceRecordSet: &dnstypes.ResourceRecordSet{
				Name: aws.String(r.Name), Type: dnstypes.RRTypeCname, TTL: aws.Int64(r.TTL), ResourceRecords: []dnstypes.ResourceRecord{{Value: aws.String(r.Value)}},
			},
		}}},
	})
	switch sdk.ClassOf(err) {
	case failure.Denied:
		fault := sdk.NewFault(err)
		fault.Message += " for hosted zone " + r.Zone
		c.WithLock(func() {
			cache.Put(c.deniedChanges, r.Zone, deniedChange{&fault, c.Config.Clock.Now()}, func(old deniedChange) bool { return !c.IsYounger(old.at, durations.LongestReadBackOff) })
		})
		return sdk.Wrap(failure.Denied, what, errors.New(fault.Message)).WithReason(finding.CertificatePending)
	case failure.Gone:
		c.list.Expire()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// isRefusedBatch reports whether Route 53 refused a batch of changes with a message that contains text. The reasons for a
// refusal have no error codes.
func isRefusedBatch(err error, text string) bool {
	var batch *dnstypes.InvalidChangeBatch
	if !errors.As(err, &batch) {
		return false
	}
	return strings.Contains(strings.Join(append(slices.Clone(batch.Messages), batch.ErrorMessage()), "; "), text)
}
