package dataplane

import (
	"net/netip"
	"time"
)

// ProtocolVersion is the HTTP version towards targets.
type ProtocolVersion string

// Protocol versions; the empty value means HTTP1.
const (
	HTTP1 ProtocolVersion = "HTTP1"
	HTTP2 ProtocolVersion = "HTTP2"
	GRPC  ProtocolVersion = "GRPC"
)

// TargetGroup is a set of targets with the same protocol, attributes and health checks.
type TargetGroup struct {
	ARN             string
	Protocol        Protocol
	ProtocolVersion ProtocolVersion
	// IsLambda is true for a target group whose target is a Lambda function. The target group has no protocol and no health
	// checks. The ID of the target is the ARN of the function; Options.InvokeLambda receives it.
	IsLambda bool
	// IsALB is true for a target group whose target is an Application Load Balancer.
	IsALB bool
	// Attributes maps AWS's keys of target group attributes to values.
	Attributes  map[string]string
	HealthCheck HealthCheck
	Targets     []Target
}

// HealthCheck contains the settings of health checks. Durations are in real time; a control plane with a scaled clock must
// scale them.
type HealthCheck struct {
	// Disabled makes all targets healthy without health checks.
	Disabled bool
	Protocol Protocol
	// Port is the port for health checks; 0 means the port of the target.
	Port uint16
	// Path defaults to "/AWS.ALB/healthcheck" for GRPC, otherwise to "/".
	Path string
	// Matcher lists the success codes, such as "200,202" or "200-299". It defaults to "12" for GRPC, to "200-399" for target
	// groups of a Network Load Balancer, otherwise to "200".
	Matcher string
	// Interval defaults to 30 s and Timeout to 5 s.
	Interval, Timeout time.Duration
	// HealthyThreshold defaults to 5 and UnhealthyThreshold to 2.
	HealthyThreshold, UnhealthyThreshold int
}

// TargetState is the state of a target.
type TargetState string

// States of a target. A target in StateUnused gets neither traffic nor health checks, for example because its zone is not
// enabled.
const (
	StateInitial   TargetState = "initial"
	StateHealthy   TargetState = "healthy"
	StateUnhealthy TargetState = "unhealthy"
	StateDraining  TargetState = "draining"
	StateUnused    TargetState = "unused"
)

// Target is a registered target. ID and Port identify it in its target group.
type Target struct {
	// ID is the registered ID: an address, an instance ID, or an ARN. Health check results contain it.
	ID string
	// Address and Port are the address and the port to which traffic is sent.
	Address netip.Addr
	Port    uint16
	// Nodes lists the nodes of a target that is an Application Load Balancer. For such a target, Address and Zone are not
	// used.
	Nodes []Node
	// QUICServerID, such as "0x0123456789abcdef", is the part of QUIC connection IDs that selects the target. It is used
	// only with QUIC.
	QUICServerID string
	// Zone is the Availability Zone of the target, or "all".
	Zone string
	// State is the state in the control plane. The data plane uses StateDraining and StateUnused unchanged. Any other state
	// applies until the data plane has its own health check result.
	State TargetState
	// Epoch distinguishes registrations of the same target. When it changes, health checking starts again.
	Epoch string
}

// HealthResult reports the health of a target after its state or its reason has changed.
type HealthResult struct {
	TargetGroup string
	ID          string
	Port        uint16
	Epoch       string
	// State is StateHealthy or StateUnhealthy.
	State TargetState
	// Reason and Description have AWS's values, such as "Target.Timeout" and "Request timed out". They are empty for a
	// healthy target.
	Reason      string
	Description string
}
