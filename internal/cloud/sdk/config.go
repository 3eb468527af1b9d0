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
	// Cluster is the cluster's name, by whose tag resources are known as ours.
	Cluster string
	// Region and VPC are asked from the environment and the instance metadata where empty.
	Region string
	VPC    string
	// VPCTags find the VPC by its tags, if VPC is empty.
	VPCTags map[string]string
	// Env reads an environment variable; nil reads none. It is only asked by New.
	Env func(string) string

	// Endpoints overrides the address of a service, by service id. Other ids have no effect.
	Endpoints map[string]string
	// Credentials default to the SDK's chain: environment, web identity, shared files, metadata.
	Credentials aws.CredentialsProvider
	// HTTP defaults to the SDK's client. With one whose transport is the emulator's, nothing
	// leaves the process.
	HTTP *http.Client
	// MaxAttempts of a call, 10 if zero. Negative: no limit.
	MaxAttempts int
	// MaxBackoff between attempts, 20 s if zero.
	MaxBackoff time.Duration
	// AttemptTimeout is how long one attempt of a call may take at first, from finding credentials to the
	// end of the answer; 30 s if zero. CallTimeout bounds the call with all of its attempts and the
	// back-off between them; 1 min if zero, or the deadline of an attempt that has grown. A call for a
	// fact that a run can do without ends with an attempt that misses its deadline.
	AttemptTimeout, CallTimeout time.Duration
	// deadlines are the deadlines of attempts, which grow where AWS answers late.
	deadlines *deadlines
	// TokenBuckets is the client-side throttle table; nil means DefaultTokenBuckets, an empty one none.
	TokenBuckets []ratelimit.TokenBucket
	// MaxWait is how long a call waits for a token; 1 s if zero. One that would have to wait for
	// longer fails at once with class Throttled and an Error that says when to try again, so that
	// no worker is held up.
	MaxWait time.Duration
	// Version is sent to AWS in the user agent.
	Version string

	// Refresh is how long what was read is taken as so, give or take a tenth; 10 min if zero.
	Refresh time.Duration
	// RuleTags reports whether the tags of listeners and rules are wanted.
	RuleTags bool
	// TaggingAPI finds the owners of load balancers and target groups by the Resource Groups Tagging
	// API, which knows those of the cluster, instead of reading the tags of all in the VPC.
	TaggingAPI bool
	// Reachability looks for subnets by their routes where none has the role tag.
	Reachability bool
	// ManagedCertificates distinguishes certificates with tracking tags from others, at one call for
	// each certificate.
	ManagedCertificates bool
	// ImportedCertificates does so for imported certificates alone, and finds those that the cluster
	// has imported.
	ImportedCertificates bool

	// Clock is clock.RealClock if nil.
	Clock clock.PassiveClock
	// Fence is asked before every attempt of a mutating call, retries included, and once more when
	// the request is about to leave; an error stops the call. Nil admits all.
	Fence interface{ Fence() error }
	// Calls records what is called; nil: nothing does.
	Calls CallRecorder
}

// CallRecorder records calls to AWS. Calls that are made at the same time call it at the same time.
type CallRecorder interface {
	// Called gets every call when it is done, retries and waiting included: the service id, the operation, AWS's error
	// code ("" on success, "internal" for other errors), and the HTTP status, 0 if there was no answer.
	Called(c Call)
	// Requested gets every attempt likewise.
	Requested(c Call)
}

// Call is one call to AWS, or one attempt at it.
type Call struct {
	Service   string
	Operation string
	Code      string
	Status    int
	Duration  time.Duration
	// Cause is what the call was made for: stack, targets, drift, orphans, or empty.
	Cause string
	// Attempts that the call took.
	Attempts int
}

// UnknownServices lists the ids of an endpoint table that name no service that is called here, in
// order. Such entries have no effect.
func UnknownServices(endpoints map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(endpoints)), func(id string) bool { return slices.Contains(services.All, id) })
}

// withDefaults fills in what was left out and refuses what cannot be meant.
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
		c.MaxAttempts = 0 // the SDK's way to say "no limit"
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 20 * time.Second
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = durations.Attempt
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = durations.Call
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

// Manages reports whether certificates of a type are requested or imported, and deleted.
func (c Config) Manages(t acmtypes.CertificateType) bool {
	if t == acmtypes.CertificateTypeImported {
		return c.ImportedCertificates
	}
	return c.ManagedCertificates
}
