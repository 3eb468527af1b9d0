package cloud

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/accelerators"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/apply"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/enis"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/facts"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/targets"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Cloud reads and changes AWS for the engine. The packages below this one have its parts. It is safe for concurrent use, and
// starts no goroutines.
type Cloud struct {
	client *sdk.Client
	inv    *inventory.Inventory
	reader *observe.Reader // fills the inventory
	facts  *facts.Facts    // answers questions about resources that do not belong to the stack
	writer *apply.Writer   // carries out steps
	// verifier reads resources again to find changes that the controller did not make.
	verifier     *observe.Verifier
	certificates *certificates.Certificates
	accelerators *accelerators.Accelerators

	targets   *targets.Targets // target groups and their targets, for TargetGroupBindings
	endpoints                  // ENIs and security groups of nodes and pods, for TargetGroupBindings
}

var (
	_ engine.Cloud   = (*Cloud)(nil)
	_ bindings.Cloud = (*Cloud)(nil)
)

type (
	// Config has the settings and dependencies of a Cloud.
	Config = sdk.Config
	// Call describes a call to AWS, or one attempt of a call.
	Call = sdk.Call
)

// New returns a Cloud. If the configuration does not name the region and the VPC, it finds them. Otherwise it makes no call
// to AWS.
func New(ctx context.Context, cfg sdk.Config) (*Cloud, error) {
	client, err := sdk.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return buildCloud(client), nil
}

// buildCloud returns a Cloud that uses the given client and has empty caches.
func buildCloud(client *sdk.Client) *Cloud {
	inv := inventory.New(client.Config.Cluster, client.VPC, client.Config.Refresh, client.Config.Clock)
	r, t := observe.New(client, inv), targets.New(client, inv)
	eniReader, certs, a := enis.New(client), certificates.New(client), facts.NewAddOns(client, inv)
	c := &Cloud{
		client: client, inv: inv, reader: r, certificates: certs, targets: t, endpoints: endpoints{eniReader, r},
		facts:    facts.New(client, inv, r, eniReader, certs, a, t),
		writer:   apply.New(client, inv, r, certs, a, t),
		verifier: observe.NewVerifier(r), accelerators: accelerators.New(client, inv),
	}
	c.Forget()
	return c
}

// Client returns the client that calls AWS.
func (c *Cloud) Client() *sdk.Client { return c.client }

// Region returns the region that the controller works in.
func (c *Cloud) Region() string { return c.client.Config.Region }

// VPC returns the id of the VPC that the controller works in.
func (c *Cloud) VPC() string { return c.client.VPC }

// TargetGroupsOf implements bindings.Cloud.
func (c *Cloud) TargetGroupsOf(a bindings.Account) bindings.TargetGroups {
	return c.targets.TargetGroupsOf(a)
}

// RateLimits returns the rates at which the rate limiter currently admits calls to the AWS account of the controller.
func (c *Cloud) RateLimits() []ratelimit.CurrentRate { return c.client.Limits.Limiter.Rates() }

// Class implements engine.Cloud.
func (c *Cloud) Class(err error) failure.Class { return sdk.ClassOf(err) }

// CountImportedCertificates counts the certificates that the cluster has imported from TLS Secrets, by the kind of their
// stacks. It reads the tags of at most limit imported certificates of the account. notRead is the number of imported
// certificates whose tags it did not read.
func (c *Cloud) CountImportedCertificates(ctx context.Context, limit int) (of map[model.Kind]int, notRead int, err error) {
	return c.certificates.CountImportedByKind(ctx, limit)
}

// Forget empties all caches, as a restart does.
func (c *Cloud) Forget() {
	c.inv.WithWriteLock(c.inv.Reset)
	c.client.ForgetFaults()
	c.facts.Reset()
	c.accelerators.Reset()
	c.eniReader.Reset()
}
