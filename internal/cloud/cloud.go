package cloud

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Cloud is AWS as the engine sees it. It is safe for concurrent use; it starts no goroutines.
type Cloud struct {
	cfg    Config
	region string
	vpc    string
	api    clients
	inv    *inventory
	facts  *factCache
	flight flight
	base   aws.Config // for clients of other accounts
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
	c := &Cloud{cfg: cfg, region: cfg.Region, facts: newFactCache(), base: base}
	c.limits.own = newSchedule(newLimiter(cfg.Paces, cfg.Now, cfg.MaxWait))
	c.api = newClients(base, cfg, c.limits.own.limiter)
	if c.vpc, err = findVPC(ctx, cfg, c.api.ec2); err != nil {
		return nil, err
	}
	c.inv = newInventory(cfg.Cluster, c.vpc, cfg.Refresh)
	return c, nil
}

// Region that the controller works in.
func (c *Cloud) Region() string { return c.region }

// VPC that the controller works in.
func (c *Cloud) VPC() string { return c.vpc }

// Forget drops all that was read, as a restart would.
func (c *Cloud) Forget() {
	c.inv.write(c.inv.reset)
	c.facts.reset()
}

// isGone says whether AWS says that a thing does not exist.
func isGone(err error) bool { return err != nil && classify(err) == engine.Gone }
