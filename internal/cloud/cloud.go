package cloud

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Cloud is AWS as the engine sees it. It is safe for concurrent use; it starts no goroutines.
type Cloud struct {
	*client
	inv    *inventory
	reader *reader
	facts  *factCache
	roles  roleCache

	limits accountLimits
	owners groupOwners
}

var _ engine.Cloud = (*Cloud)(nil)

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
	own := newSchedule(newLimiter(cfg.Paces, cfg.Now, cfg.MaxWait))
	at := &client{cfg: cfg, base: base, api: newClients(base, cfg, own.limiter)}
	if at.vpc, err = findVPC(ctx, cfg, at.api.ec2); err != nil {
		return nil, err
	}
	return compose(at, own), nil
}

// compose puts the parts together.
func compose(at *client, own *schedule) *Cloud {
	at.failed.reset()
	inv := newInventory(at.cfg.Cluster, at.vpc, at.cfg.Refresh)
	c := &Cloud{client: at, inv: inv, reader: &reader{client: at, inv: inv}, facts: newFactCache()}
	c.limits.own = own
	return c
}

// Region that the controller works in.
func (c *Cloud) Region() string { return c.cfg.Region }

// VPC that the controller works in.
func (c *Cloud) VPC() string { return c.vpc }

// Forget drops all that was read, as a restart would.
func (c *Cloud) Forget() {
	c.inv.write(c.inv.reset)
	c.facts.reset()
	c.failed.reset()
}

// isGone says whether AWS says that a thing does not exist.
func isGone(err error) bool { return err != nil && classify(err) == engine.Gone }
