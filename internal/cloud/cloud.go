package cloud

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Cloud is AWS as the engine sees it, put together from its parts. It is safe for concurrent use; it
// starts no goroutines.
type Cloud struct {
	*client
	inv    *inventory
	reader *reader // fills the inventory
	facts  *facts  // answers what a stack wants to know of things that are not its own
	writer *writer // carries out steps
	// verifier reads again what others may have changed.
	verifier *verifier

	targets   *targets   // of target groups, for bindings
	endpoints *endpoints // network interfaces and security groups of nodes and pods, for bindings
}

var (
	_ engine.Cloud   = (*Cloud)(nil)
	_ bindings.Cloud = (*Cloud)(nil)
)

// New finds the region and the VPC, where they are not given, and makes the clients. It makes no
// call when both are given.
func New(ctx context.Context, cfg Config) (*Cloud, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Region, err = findRegion(ctx, cfg); err != nil {
		return nil, err
	}
	base, err := sdkConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	own := ratelimit.NewSchedule(ratelimit.NewLimiter(cfg.TokenBuckets, cfg.Now, cfg.MaxWait))
	at := &client{cfg: cfg, base: base, api: newClients(base, cfg, own.Limiter)}
	if at.vpc, err = findVPC(ctx, cfg, at.api.ec2); err != nil {
		return nil, err
	}
	return compose(at, own), nil
}

// compose puts the parts together.
func compose(at *client, own *ratelimit.Schedule) *Cloud {
	inv := newInventory(at.cfg.Cluster, at.vpc, at.cfg.Refresh, at.cfg.Now)
	r, t := &reader{client: at, inv: inv}, &targets{client: at, inv: inv}
	t.limits.own = own
	ends := &endpoints{client: at}
	f := &facts{
		client: at, endpoints: ends, inv: inv, reader: r, network: &networkFacts{client: at}, names: &nameFacts{client: at, inv: inv},
		certificates: &certificates{client: at}, addOns: &addOns{client: at, inv: inv}, targets: t,
	}
	c := &Cloud{
		client: at, inv: inv, reader: r, facts: f, targets: t, endpoints: ends,
		verifier: &verifier{reader: r},
		writer:   &writer{client: at, inv: inv, reader: r, certificates: f.certificates, addOns: f.addOns, targets: t},
	}
	c.Forget()
	return c
}

// Region that the controller works in.
func (c *Cloud) Region() string { return c.cfg.Region }

// VPC that the controller works in.
func (c *Cloud) VPC() string { return c.vpc }

// As implements bindings.Cloud.
func (c *Cloud) As(a bindings.Account) bindings.TargetGroups { return targetGroups{c.targets, a} }

// VPCRanges implements bindings.Cloud.
func (c *Cloud) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	return c.endpoints.VPCRanges(ctx, vpc)
}

// Interfaces implements bindings.EndpointGroups.
func (c *Cloud) Interfaces(ctx context.Context, q bindings.InterfaceQuery) (bindings.Interfaces, error) {
	return c.endpoints.Interfaces(ctx, q)
}

// EndpointGroups implements bindings.EndpointGroups.
func (c *Cloud) EndpointGroups(ctx context.Context, ids []string, maxAge time.Duration) ([]bindings.EndpointGroup, error) {
	return c.endpoints.EndpointGroups(ctx, ids, maxAge)
}

// ChangedEndpointGroups implements bindings.EndpointGroups.
func (c *Cloud) ChangedEndpointGroups(ctx context.Context) ([]string, error) {
	return c.endpoints.ChangedEndpointGroups(verifying(ctx))
}

// ChangeEndpointRules implements bindings.EndpointGroups.
func (c *Cloud) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	return c.endpoints.ChangeEndpointRules(ctx, group, authorize, revoke)
}

// RateLimits of the controller's own account.
func (c *Cloud) RateLimits() []ratelimit.Limit { return c.targets.limits.own.Limiter.Rates() }

// Forget drops all that was read, as a restart would.
func (c *Cloud) Forget() {
	c.inv.write(c.inv.reset)
	c.failed.reset()
	c.facts.reset()
	c.endpoints.reset()
}

// isGone reports whether AWS says that a thing does not exist.
func isGone(err error) bool { return err != nil && classify(err) == engine.Gone }
