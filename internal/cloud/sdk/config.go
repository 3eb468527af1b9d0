package sdk

import (
	"cmp"
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

// Config has the configuration and the dependencies of a Client. Only Cluster is required.
type Config struct {
	// Cluster is the name of the cluster. The controller owns the resources whose cluster tag has this name as its value.
	Cluster string
	// Region is the name of the region, and VPC the ID of the VPC. An empty value is determined from VPCTags, environment
	// variables or the instance metadata.
	Region string
	VPC    string
	// VPCTags are tags that identify the VPC. They are used only if VPC is empty.
	VPCTags map[string]string
	// Env returns the value of an environment variable. Nil means that no variable is set. Only New calls it.
	Env func(string) string

	// Endpoints overrides the addresses of services, by service ID. Unknown IDs have no effect.
	Endpoints map[string]string
	// Credentials are the credentials for all calls. Nil means the default chain of the SDK: environment, web identity,
	// shared files, metadata.
	Credentials aws.CredentialsProvider
	// HTTP is the HTTP client. Nil means the client of the SDK. With the transport of the emulator, no request leaves the
	// process.
	HTTP *http.Client
	// MaxAttempts is the maximum number of attempts of a call: 10 if zero, no limit if negative.
	MaxAttempts int
	// MaxBackoff is the longest back-off between attempts; 20 s if zero.
	MaxBackoff time.Duration
	// AttemptTimeout is the initial deadline of one attempt of a call, from finding credentials to the end of the answer; 30
	// s if zero. CallTimeout is the deadline of a call with all of its attempts and the back-off between them; 1 min if
	// zero. If the deadline of an attempt becomes longer than CallTimeout, it is also the deadline of the call. A call for
	// an optional fact ends after the first attempt without an answer within its deadline.
	AttemptTimeout, CallTimeout time.Duration
	// deadlines has the deadlines of attempts, which become longer if AWS answers slowly.
	deadlines *deadlines
	// TokenBuckets is the throttle table of the rate limiter. Nil means DefaultTokenBuckets; an empty table limits no call.
	TokenBuckets []ratelimit.TokenBucket
	// MaxWait is the longest time that a call waits for a token; 1 s if zero. A call that would wait longer fails
	// immediately, so that it does not block a worker. The error has the class Throttled, and contains the time to wait
	// before the call is repeated.
	MaxWait time.Duration
	// Version is the version of the controller. It is sent to AWS in the user agent.
	Version string

	// Refresh is how long a value that was read stays fresh, plus or minus a tenth; 10 min if zero.
	Refresh time.Duration
	// RuleTags reports whether the tags of listeners and rules are read.
	RuleTags bool
	// TaggingAPI reports whether the load balancers and target groups of the cluster are found with the Resource Groups
	// Tagging API. If it is false, the tags of all load balancers and target groups of the VPC are read.
	TaggingAPI bool
	// SubnetDiscoveryByReachability reports whether subnets are chosen by their routes if no subnet has the role tag.
	SubnetDiscoveryByReachability bool
	// ManagedCertificates reports whether the controller requests certificates. If it is true, the controller reads the tags
	// of certificates to find the certificates of the cluster. This needs one call for each certificate.
	ManagedCertificates bool
	// ImportedCertificates reports whether the controller imports certificates. If it is true, the controller reads the tags
	// of imported certificates to find the certificates of the cluster.
	ImportedCertificates bool

	// Clock is the clock; nil means clock.RealClock.
	Clock clock.PassiveClock
	// Fence is checked before every attempt of a mutating call, and again when the request of the attempt is about to be
	// sent. If it returns an error, the request is not sent. Nil disables fencing.
	Fence interface{ CheckFence() error }
	// CallRecorder records the calls. It may be nil.
	CallRecorder CallRecorder
}

// CallRecorder records calls to AWS. Its methods may be called concurrently.
type CallRecorder interface {
	// RecordCall is called after every call, with all of its attempts.
	RecordCall(c Call)
	// RecordAttempt is called after every attempt.
	RecordAttempt(c Call)
}

// Call describes a call to AWS, or one attempt of it.
type Call struct {
	Service   string // service ID
	Operation string
	Code      string // error code of AWS; "" on success, "internal" for an error that is not from AWS
	Status    int    // HTTP status, 0 if there was no answer
	Duration  time.Duration
	// Cause is the purpose of the call: "stack", "targets", "drift", "orphans", or "".
	Cause string
	// Attempts is the number of attempts; 1 in RecordAttempt.
	Attempts int
}

// UnknownServices returns, sorted, the service IDs in a map of endpoints that are not in services.All. These IDs have no
// effect.
func UnknownServices(endpoints map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(endpoints)), func(id string) bool { return slices.Contains(services.All, id) })
}

// withDefaults returns the configuration with defaults in place of zero values. It returns an error if the cluster name is
// missing or an endpoint is not a URL.
func (c Config) withDefaults() (Config, error) {
	if c.Cluster == "" {
		return c, fmt.Errorf("cluster name not set; set --cluster-name")
	}
	for _, id := range slices.Sorted(maps.Keys(c.Endpoints)) {
		if u, err := url.Parse(c.Endpoints[id]); err != nil || u.Scheme == "" || u.Host == "" {
			return c, fmt.Errorf("endpoint override: address %q of service %q is not a URL with a scheme and a host", c.Endpoints[id], id)
		}
	}
	c.MaxAttempts = max(cmp.Or(c.MaxAttempts, 10), 0) // 0 means no limit for the SDK
	c.MaxBackoff, c.MaxWait, c.Refresh = cmp.Or(c.MaxBackoff, 20*time.Second), cmp.Or(c.MaxWait, time.Second), cmp.Or(c.Refresh, 10*time.Minute)
	c.AttemptTimeout, c.CallTimeout = cmp.Or(c.AttemptTimeout, durations.AttemptDeadline), cmp.Or(c.CallTimeout, durations.CallDeadline)
	if c.TokenBuckets == nil {
		c.TokenBuckets = ratelimit.DefaultTokenBuckets()
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

// ManagesCertificateType reports whether the controller requests or imports certificates of a type, and deletes them.
func (c Config) ManagesCertificateType(t acmtypes.CertificateType) bool {
	if t == acmtypes.CertificateTypeImported {
		return c.ImportedCertificates
	}
	return c.ManagedCertificates
}
