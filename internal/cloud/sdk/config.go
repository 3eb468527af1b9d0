package sdk

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// Config holds the dependencies of New. Only Cluster is required.
type Config struct {
	// Cluster is the name of the cluster. The controller owns the resources that have a tag with this name.
	Cluster string
	// Region and VPC, which is an id, are read from the environment and the instance metadata if they are empty.
	Region string
	VPC    string
	// VPCTags are tags by which the VPC is found, if VPC is empty.
	VPCTags map[string]string
	// Env reads an environment variable; nil reads none. Only New calls it.
	Env func(string) string

	// Endpoints overrides the address of a service, by service id. Other ids have no effect.
	Endpoints map[string]string
	// Credentials default to the SDK's chain: environment, web identity, shared files, metadata.
	Credentials aws.CredentialsProvider
	// HTTP is the HTTP client; the SDK's client if nil. With the emulator's transport, no request leaves the process.
	HTTP *http.Client
	// MaxAttempts is the greatest number of attempts of a call; 10 if zero, no limit if negative.
	MaxAttempts int
	// MaxBackoff is the longest back-off between attempts, 20 s if zero.
	MaxBackoff time.Duration
	// AttemptTimeout is the initial deadline of one attempt of a call, from finding credentials to the end of the answer; 30
	// s if zero. CallTimeout is the deadline of the call with all of its attempts and their back-off; 1 min if zero. If the
	// deadline of an attempt has grown beyond CallTimeout, it is also the deadline of the call. A call for an optional fact
	// ends after the first attempt that misses its deadline.
	AttemptTimeout, CallTimeout time.Duration
	// deadlines are the deadlines of attempts, which grow where AWS answers late.
	deadlines *deadlines
	// TokenBuckets is the throttle table of the rate limiter. Nil means DefaultTokenBuckets; an empty table limits no call.
	TokenBuckets []ratelimit.TokenBucket
	// MaxWait is the longest time that a call waits for a token; 1 s if zero. A call that would have to wait longer fails at
	// once, so that it blocks no worker: the error has the class Throttled and the time after which to try again.
	MaxWait time.Duration
	// Version is sent to AWS in the user agent.
	Version string

	// Refresh is how long a reading stays fresh, plus or minus a tenth; 10 min if zero.
	Refresh time.Duration
	// RuleTags enables reading the tags of listeners and rules.
	RuleTags bool
	// TaggingAPI reports whether the load balancers and target groups of the cluster are found with the Resource Groups
	// Tagging API. Otherwise the tags of all load balancers and target groups of the VPC are read.
	TaggingAPI bool
	// Reachability reports whether subnets are chosen by their routes if no subnet has the role tag.
	Reachability bool
	// ManagedCertificates reports whether the controller requests certificates. It then reads the tags of certificates, with
	// one call for each certificate, to find those of the cluster.
	ManagedCertificates bool
	// ImportedCertificates reports whether the controller imports certificates. It then reads the tags of imported
	// certificates, to find those of the cluster.
	ImportedCertificates bool

	// Clock is the source of time; clock.RealClock if nil.
	Clock clock.PassiveClock
	// Fence is called before every attempt of a mutating call, including retries, and again when the request is about to be
	// sent. An error stops the call. Nil admits all calls.
	Fence interface{ Fence() error }
	// Calls records the calls; nil records none.
	Calls CallRecorder
}

// CallRecorder records calls to AWS. Its methods may be called concurrently.
type CallRecorder interface {
	// RecordCall is called after every call, with all of its attempts.
	RecordCall(c Call)
	// RecordAttempt is called after every attempt.
	RecordAttempt(c Call)
}

// Call is one call to AWS, or one attempt at it.
type Call struct {
	Service   string // id
	Operation string
	Code      string // AWS's error code; "" on success, "internal" for an error that is not from AWS
	Status    int    // HTTP status, 0 if there was no answer
	Duration  time.Duration
	// Cause is the purpose of the call: stack, targets, drift, orphans, or empty.
	Cause string
	// Attempts is how many attempts the call took.
	Attempts int
}

// UnknownServices returns the ids of an endpoint table that are not in services.All, sorted. Such entries have no effect.
func UnknownServices(endpoints map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(endpoints)), func(id string) bool { return slices.Contains(services.All, id) })
}

// withDefaults returns the configuration with defaults. It returns an error for a missing cluster name or an invalid URL.
func (c Config) withDefaults() (Config, error) {
	if c.Cluster == "" {
		return c, fmt.Errorf("the cluster name is missing")
	}
	for _, id := range slices.Sorted(maps.Keys(c.Endpoints)) {
		if u, err := url.Parse(c.Endpoints[id]); err != nil || u.Scheme == "" || u.Host == "" {
			return c, fmt.Errorf("endpoint override: %q of %s is not a URL", c.Endpoints[id], id)
		}
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 10
	}
	if c.MaxAttempts < 0 {
		c.MaxAttempts = 0 // 0 means no limit for the SDK
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 20 * time.Second
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = durations.AttemptDeadline
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = durations.CallDeadline
	}
	if c.TokenBuckets == nil {
		c.TokenBuckets = ratelimit.DefaultTokenBuckets()
	}
	if c.MaxWait == 0 {
		c.MaxWait = time.Second
	}
	if c.Refresh == 0 {
		c.Refresh = 10 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	c.deadlines = newDeadlines(c.AttemptTimeout, c.Clock)
	if c.Env == nil {
		c.Env = func(string) string { return "" }
	}
	return c, nil
}

// ManagesCertificateType reports whether the controller requests or imports, and deletes, certificates of a type.
func (c Config) ManagesCertificateType(t acmtypes.CertificateType) bool {
	if t == acmtypes.CertificateTypeImported {
		return c.ImportedCertificates
	}
	return c.ManagedCertificates
}
