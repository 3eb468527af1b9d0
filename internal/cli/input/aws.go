package input

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// CloudConfig returns the configuration of the AWS client of the controller. It returns an error if --aws-api-throttle is
// malformed.
func CloudConfig(c config.Config, env output.Environment) (cloud.Config, error) {
	out := cloud.Config{
		Cluster: c.ClusterName, Region: c.AWS.Region, VPC: c.AWS.VPC, VPCTags: c.AWS.VPCTags,
		Env: env.Getenv, Endpoints: c.AWS.Endpoints, MaxAttempts: c.AWS.MaxRetries, Version: env.Version,
		RuleTags:                      c.Gates.IsEnabled(config.ListenerRulesTagging),
		TaggingAPI:                    c.Gates.IsEnabled(config.EnableRGTAPI),
		SubnetDiscoveryByReachability: c.Gates.IsEnabled(config.SubnetDiscoveryByReachability),
		ManagedCertificates:           c.Gates.IsEnabled(config.EnableCertificateManagement), ImportedCertificates: len(c.ImportTLSSecrets) > 0,
	}
	if out.MaxAttempts <= 0 {
		out.MaxAttempts = 3 // the default of the SDK for Go
	}
	if c.AWS.Throttle != "" {
		limits, err := ratelimit.ParseTokenBuckets(c.AWS.Throttle)
		if err != nil {
			return out, fmt.Errorf("--aws-api-throttle: %w", err)
		}
		out.TokenBuckets = limits
	}
	return out, nil
}

// Connector connects the controller to AWS. It implements controller.Connector.
type Connector struct {
	Config config.Config
	Env    output.Environment
}

// Connect implements controller.Connector.
func (c Connector) Connect(ctx context.Context, fence engine.Fence, m *controller.Metrics) (controller.AWS, error) {
	cc, err := CloudConfig(c.Config, c.Env)
	if err != nil {
		return controller.AWS{}, err
	}
	cc.Fence, cc.CallRecorder = fence, metricsRecorder{m}
	cl, err := cloud.New(ctx, cc)
	if err != nil {
		return controller.AWS{}, err
	}
	m.SetRateLimitReader(func() []controller.RateLimit { return rateLimits(cl) })
	return controller.AWS{Stacks: cl, Targets: cl, UnansweredCalls: cl.Client(), Region: cl.Region(), VPC: cl.VPC()}, nil
}

// IsUnreached implements controller.Connector.
func (Connector) IsUnreached(err error) bool { return sdk.IsUnreached(err) }

// metricsRecorder counts calls to AWS in the metrics of the controller.
type metricsRecorder struct{ metrics *controller.Metrics }

// RecordCall implements sdk.CallRecorder.
func (m metricsRecorder) RecordCall(c cloud.Call) { m.metrics.CountCall(callOf(c)) }

// RecordAttempt implements sdk.CallRecorder. A request without a response, whose status is 0, is not counted.
func (m metricsRecorder) RecordAttempt(c cloud.Call) {
	if c.Status != 0 {
		m.metrics.CountRequest(callOf(c))
	}
}

// rateLimits returns the current rate limits of calls to the AWS account of the controller, for its metrics.
func rateLimits(c *cloud.Cloud) []controller.RateLimit {
	var out []controller.RateLimit
	for _, x := range c.RateLimits() {
		out = append(out, controller.RateLimit(x))
	}
	return out
}

// callOf converts a call to AWS for the metrics of the controller.
func callOf(c cloud.Call) controller.Call {
	return controller.Call{
		Service: c.Service, Operation: c.Operation, Status: strconv.Itoa(c.Status), Code: c.Code, Cause: c.Cause,
		Duration: c.Duration, Attempts: c.Attempts,
	}
}
