package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// client is how AWS is called, with what all readings have in common: the clock, the sharing of
// readings among those who ask at the same time, and what is known of readings that failed.
type client struct {
	cfg    Config // with its region
	base   aws.Config
	vpc    string
	api    clients
	flight flight
	failed failedReads
}

// clients are the service clients of one set of credentials.
type clients struct {
	elb *elasticloadbalancingv2.Client
	ec2 *ec2.Client
	acm *acm.Client
	dns *route53.Client
	sts *sts.Client
	iam *iam.Client

	wafv2  *wafv2.Client
	waf    *wafregional.Client
	shield *shield.Client

	tagging *resourcegroupstaggingapi.Client
}

// sdkConfig is the SDK's configuration for the region.
func sdkConfig(ctx context.Context, c Config) (aws.Config, error) {
	retryer := func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = c.MaxAttempts
			o.MaxBackoff = c.MaxBackoff
			o.Backoff = backOff{retry.NewExponentialJitterBackoff(c.MaxBackoff)}
			o.RateLimiter = sdkratelimit.None
		})
	}
	client := bounded(c.HTTP, c.CallTimeout)
	if c.Credentials != nil {
		return aws.Config{Region: c.Region, Credentials: c.Credentials, Retryer: retryer, HTTPClient: unbounded(client)}, nil
	}
	out, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(c.Region), awsconfig.WithRetryer(retryer), awsconfig.WithHTTPClient(client),
		awsconfig.WithLogger(logging.Nop{})) // what the SDK warns of is in its errors, and lines of text break a log of JSON
	if err != nil {
		return aws.Config{}, fmt.Errorf("load the SDK's configuration: %w", err)
	}
	out.HTTPClient = unbounded(out.HTTPClient)
	return out, nil
}

// backOff is the SDK's own, but none where the rate limiter decides.
type backOff struct{ sdk retry.BackoffDelayer }

// BackoffDelay implements retry.BackoffDelayer.
func (b backOff) BackoffDelay(attempt int, err error) (time.Duration, error) {
	var throttled *ratelimit.ThrottledError
	if errors.As(err, &throttled) {
		return 0, nil
	}
	return b.sdk.BackoffDelay(attempt, err)
}

// newClients makes the clients. Every call goes through the same stack: fence, rate limiter, report.
func newClients(base aws.Config, c Config, l *ratelimit.Limiter) clients {
	base = base.Copy()
	base.APIOptions = append(base.APIOptions, func(s *middleware.Stack) error { return instrument(s, c, l) })
	endpoint := func(service string) *string {
		if u := c.Endpoints[service]; u != "" {
			return aws.String(u)
		}
		return nil
	}
	return clients{
		elb: elasticloadbalancingv2.NewFromConfig(base, func(o *elasticloadbalancingv2.Options) {
			if e := endpoint(services.ELB); e != nil {
				o.BaseEndpoint = e
			}
		}),
		ec2: ec2.NewFromConfig(base, func(o *ec2.Options) {
			if e := endpoint(services.EC2); e != nil {
				o.BaseEndpoint = e
			}
		}),
		sts: sts.NewFromConfig(base, func(o *sts.Options) {
			if e := endpoint(services.STS); e != nil {
				o.BaseEndpoint = e
			}
		}),
		iam: iam.NewFromConfig(base, func(o *iam.Options) {
			if e := endpoint(services.IAM); e != nil {
				o.BaseEndpoint = e
			}
		}),
		acm: acm.NewFromConfig(base, func(o *acm.Options) {
			if e := endpoint(services.ACM); e != nil {
				o.BaseEndpoint = e
			}
		}),
		dns: route53.NewFromConfig(base, func(o *route53.Options) {
			if e := endpoint(services.Route53); e != nil {
				o.BaseEndpoint = e
			}
		}),
		wafv2: wafv2.NewFromConfig(base, func(o *wafv2.Options) {
			if e := endpoint(services.WAFv2); e != nil {
				o.BaseEndpoint = e
			}
		}),
		waf: wafregional.NewFromConfig(base, func(o *wafregional.Options) {
			if e := endpoint(services.WAFRegional); e != nil {
				o.BaseEndpoint = e
			}
		}),
		shield: shield.NewFromConfig(base, func(o *shield.Options) {
			if e := endpoint(services.Shield); e != nil {
				o.BaseEndpoint = e
			}
		}),
		tagging: resourcegroupstaggingapi.NewFromConfig(base, func(o *resourcegroupstaggingapi.Options) {
			if e := endpoint(services.Tagging); e != nil {
				o.BaseEndpoint = e
			}
		}),
	}
}

// younger reports whether something was read no longer ago than the age.
func (c *client) younger(at time.Time, age time.Duration) bool {
	return !at.IsZero() && c.cfg.Now().Sub(at) < age
}

// fresh reports whether what was read at a time is still taken as so. The period differs by up to a
// tenth from resource to resource, so that not all is read again at once.
func (c *client) fresh(at time.Time, key string) bool {
	if at.IsZero() {
		return false
	}
	return c.cfg.Now().Sub(at) < freshFor(c.cfg.Refresh, key)
}

// current reports whether what was read at a time is still taken as so, and may be compared with.
func (c *client) current(at, since time.Time, key string) bool {
	return c.fresh(at, key) && !at.Before(since)
}

// notBefore is when something must have been read that is not to be older than maxAge now; the zero time
// if that bounds nothing.
func (c *client) notBefore(maxAge time.Duration) time.Time {
	if maxAge <= 0 {
		return time.Time{}
	}
	return c.cfg.Now().Add(-maxAge)
}

// once reads something of the resource with the id unless it was read since a time and is fresh, shared
// among those who ask at the same time.
func (c *client) once(ctx context.Context, key, id string, since time.Time, at func() time.Time, read func() error) error {
	if c.current(at(), since, id) {
		return nil
	}
	return c.optional(ctx, key, func() error {
		if c.current(at(), since, id) {
			return nil
		}
		return read()
	})
}

// asked gives what is known, or has it read first, once for all who ask at the same time. The read
// is an optional one.
func asked[T any](ctx context.Context, c *client, key string, known func() (T, bool), read func() error) (T, error) {
	if out, ok := known(); ok {
		return out, nil
	}
	err := c.optional(ctx, key, func() error {
		if _, ok := known(); ok {
			return nil
		}
		return read()
	})
	out, _ := known()
	return out, err
}
