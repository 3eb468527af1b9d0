package sdk

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
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

// Client has the clients that call AWS, and state that all reads use: the clock, the reads in flight that concurrent callers
// share, and the failed reads.
type Client struct {
	Config      Config // complete with defaults and the region
	awsConfig   aws.Config
	VPC         string // ID of the VPC of the cluster
	API         Clients
	Limits      *ratelimit.Schedule // the rate limiter for the account of the controller
	sharedReads sharedReads
	failedReads failedReads
}

// Clients are the service clients with one set of credentials.
type Clients struct {
	ELB     *elasticloadbalancingv2.Client
	EC2     *ec2.Client
	ACM     *acm.Client
	Route53 *route53.Client
	STS     *sts.Client
	IAM     *iam.Client

	WAFv2  *wafv2.Client
	WAF    *wafregional.Client
	Shield *shield.Client

	Tagging *resourcegroupstaggingapi.Client

	Accelerators *globalaccelerator.Client
}

// New returns a Client. If cfg does not contain the region or the VPC, New looks for the missing value, for example in the
// instance metadata. It makes no call if cfg contains both.
func New(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Region, err = findRegion(ctx, cfg); err != nil {
		return nil, err
	}
	base, err := loadConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	own := ratelimit.NewSchedule(ratelimit.NewLimiter(cfg.TokenBuckets, cfg.Clock, cfg.MaxWait))
	c := &Client{Config: cfg, awsConfig: base, API: newClients(base, cfg, own.Limiter), Limits: own}
	c.VPC, err = findVPC(ctx, cfg, c.API.EC2)
	return c, err
}

// ClientsWithCredentials returns clients with other credentials. l is the rate limiter of the account of these credentials.
func (c *Client) ClientsWithCredentials(credentials aws.CredentialsProvider, l *ratelimit.Limiter) Clients {
	base := c.awsConfig.Copy()
	base.Credentials = credentials
	return newClients(base, c.Config, l)
}

// UnfencedClients returns clients without fencing. These clients are for calls that change nothing although their operation
// can change resources, such as dry runs.
func (c *Client) UnfencedClients() Clients {
	cfg := c.Config
	cfg.Fence = nil
	return newClients(c.awsConfig, cfg, c.Limits.Limiter)
}

// loadConfig returns the configuration of the SDK for the region.
func loadConfig(ctx context.Context, c Config) (aws.Config, error) {
	retryer := func() aws.Retryer {
		return refusalRetryer{retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = c.MaxAttempts
			o.MaxBackoff = c.MaxBackoff
			o.Backoff = backOff{retry.NewExponentialJitterBackoff(c.MaxBackoff)}
			o.RateLimiter = sdkratelimit.None
		})}
	}
	client := withTimeout(c.HTTP, c.CallTimeout)
	if c.Credentials != nil {
		return aws.Config{Region: c.Region, Credentials: c.Credentials, Retryer: retryer, HTTPClient: withoutClientTimeout(client)}, nil
	}
	out, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(c.Region), awsconfig.WithRetryer(retryer), awsconfig.WithHTTPClient(client),
		awsconfig.WithLogger(logging.Nop{})) // no SDK log: its warnings are also in the returned errors, and lines of text would break a JSON log
	if err != nil {
		return aws.Config{}, fmt.Errorf("load the SDK's configuration: %w", err)
	}
	out.HTTPClient = withoutClientTimeout(out.HTTPClient)
	return out, nil
}

// backOff is the back-off of the SDK between attempts. It is zero after a throttled attempt if the rate limiter decides when
// the next attempt is made.
type backOff struct{ sdk retry.BackoffDelayer }

// BackoffDelay implements retry.BackoffDelayer.
func (b backOff) BackoffDelay(attempt int, err error) (time.Duration, error) {
	var throttled *ratelimit.ThrottledError
	if errors.As(err, &throttled) {
		return 0, nil
	}
	return b.sdk.BackoffDelay(attempt, err)
}

// refusalRetryer is a retryer that does not retry a call if an earlier change is in progress, a quota is reached, or AWS has
// no capacity. The SDK treats these refusals as throttling or as internal failures of AWS, and would block a worker until
// the deadline of the call. In Route 53 an earlier change is finished quickly, so a call that was refused because of an
// earlier change is retried.
type refusalRetryer struct{ aws.Retryer }

// IsErrorRetryable implements aws.Retryer.
func (r refusalRetryer) IsErrorRetryable(err error) bool {
	var inProgress *elbtypes.PriorRequestNotCompleteException
	var noCapacity *elbtypes.InsufficientCapacityException
	switch code := Code(err); {
	case code == "TransactionInProgressException", code == "LimitExceededException", errors.As(err, &inProgress), errors.As(err, &noCapacity):
		return false
	}
	return r.Retryer.IsErrorRetryable(err)
}

// newClients returns the service clients. Every call passes the same middleware: fencing, rate limiter, deadlines, recorder.
func newClients(base aws.Config, c Config, l *ratelimit.Limiter) Clients {
	base = base.Copy()
	base.APIOptions = append(base.APIOptions, func(s *middleware.Stack) error { return instrument(s, c, l) })
	override := func(address **string, service string) {
		if u := c.Endpoints[service]; u != "" {
			*address = aws.String(u)
		}
	}
	return Clients{
		ELB:     elasticloadbalancingv2.NewFromConfig(base, func(o *elasticloadbalancingv2.Options) { override(&o.BaseEndpoint, services.ELB) }),
		EC2:     ec2.NewFromConfig(base, func(o *ec2.Options) { override(&o.BaseEndpoint, services.EC2) }),
		STS:     sts.NewFromConfig(base, func(o *sts.Options) { override(&o.BaseEndpoint, services.STS) }),
		IAM:     iam.NewFromConfig(base, func(o *iam.Options) { override(&o.BaseEndpoint, services.IAM) }),
		ACM:     acm.NewFromConfig(base, func(o *acm.Options) { override(&o.BaseEndpoint, services.ACM) }),
		Route53: route53.NewFromConfig(base, func(o *route53.Options) { override(&o.BaseEndpoint, services.Route53) }),
		WAFv2:   wafv2.NewFromConfig(base, func(o *wafv2.Options) { override(&o.BaseEndpoint, services.WAFv2) }),
		WAF:     wafregional.NewFromConfig(base, func(o *wafregional.Options) { override(&o.BaseEndpoint, services.WAFRegional) }),
		Shield:  shield.NewFromConfig(base, func(o *shield.Options) { override(&o.BaseEndpoint, services.Shield) }),
		Tagging: resourcegroupstaggingapi.NewFromConfig(base, func(o *resourcegroupstaggingapi.Options) { override(&o.BaseEndpoint, services.Tagging) }),
		Accelerators: globalaccelerator.NewFromConfig(base, func(o *globalaccelerator.Options) {
			o.Region = services.AcceleratorRegion
			override(&o.BaseEndpoint, services.GlobalAccelerator)
		}),
	}
}

// IsYounger reports whether the time at is less than age ago. It is false for the zero time.
func (c *Client) IsYounger(at time.Time, age time.Duration) bool {
	return !at.IsZero() && c.Config.Clock.Now().Sub(at) < age
}

// IsFresh reports whether a value that was read at the time at is younger than Config.Refresh. The period differs by up to a
// tenth between keys, so that not all values are read again at once.
func (c *Client) IsFresh(at time.Time, key string) bool {
	if at.IsZero() {
		return false
	}
	return c.Config.Clock.Now().Sub(at) < FreshDuration(c.Config.Refresh, key)
}

// FreshDuration returns how long the value with a key stays fresh: refresh, plus or minus up to a tenth, depending on the
// key.
func FreshDuration(refresh time.Duration, key string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))                           // a hash returns no error
	part := time.Duration(h.Sum32()%201) * refresh / 1000 // 0 to 20%
	return refresh*9/10 + part
}

// IsCurrent reports whether a value that was read at the time at is fresh and was not read before the time since.
func (c *Client) IsCurrent(at, since time.Time, key string) bool {
	return c.IsFresh(at, key) && !at.Before(since)
}

// EarliestReadTime returns the time that was maxAge ago. A value that must not be older than maxAge must have been read
// since then. The result is the zero time if maxAge is not positive.
func (c *Client) EarliestReadTime(maxAge time.Duration) time.Time {
	if maxAge <= 0 {
		return time.Time{}
	}
	return c.Config.Clock.Now().Add(-maxAge)
}

// OnceFunc runs read once for all concurrent callers with the same key. It is ReadShared, ReadEssential or ReadOptional of a
// Client.
type OnceFunc func(ctx context.Context, key string, read func() error) error

// ReadOnce calls read with once, unless fresh returns true. It calls fresh again right before read, because another caller
// may have read the value in the meantime.
func ReadOnce(ctx context.Context, once OnceFunc, key string, fresh func() bool, read func() error) error {
	if fresh() {
		return nil
	}
	return once(ctx, key, func() error {
		if fresh() {
			return nil
		}
		return read()
	})
}

// CachedOrRead returns the value from known. If known has no value, it first reads the value, as ReadOnce does.
func CachedOrRead[T any](ctx context.Context, once OnceFunc, key string, known func() (T, bool), read func() error) (T, error) {
	if out, ok := known(); ok {
		return out, nil
	}
	err := ReadOnce(ctx, once, key, func() bool {
		_, ok := known()
		return ok
	}, read)
	out, _ := known()
	return out, err
}
