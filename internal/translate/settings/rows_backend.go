package settings

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func authRows() []row[Ingress] {
	const group = "Authentication"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "auth-type", Type: "none, oidc, cognito", Default: "none", Service: true, Merge: mergeOwn,
			Doc: "Authentication before the outcome, on HTTPS listeners."},
			read: valueReader(Enum(AuthNone, AuthOIDC, AuthCognito), func(in *Ingress) *Opt[AuthType] { return &in.Auth.Type })},
		{Row: Row{Group: group, Key: "auth-idp-cognito", Type: "json", Service: true, Merge: mergeOwn,
			Doc: "Cognito user pool."},
			read: valueReader(ParseCognito, func(in *Ingress) *Opt[CognitoIDP] { return &in.Auth.Cognito })},
		{Row: Row{Group: group, Key: "auth-idp-oidc", Type: "json", Service: true, Merge: mergeOwn,
			Doc: "OpenID Connect provider; secretName names a Secret with clientID and clientSecret."},
			read: valueReader(ParseOIDC, func(in *Ingress) *Opt[OIDCIDP] { return &in.Auth.OIDC })},
		{Row: Row{Group: group, Key: "auth-on-unauthenticated-request", Type: "string", Default: "authenticate", Service: true, Merge: mergeOwn,
			Doc: "authenticate, allow or deny."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.Auth.OnUnauthenticated })},
		{Row: Row{Group: group, Key: "auth-scope", Type: "string", Default: "openid", Service: true, Merge: mergeOwn,
			Doc: "Scopes to ask for, separated by spaces."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.Auth.Scope })},
		{Row: Row{Group: group, Key: "auth-session-cookie", Type: "string", Default: "AWSELBAuthSessionCookie", Service: true, Merge: mergeOwn,
			Doc: "Name of the session cookie."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.Auth.SessionCookie })},
		{Row: Row{Group: group, Key: "auth-session-timeout", Type: "int", Default: "604800", Service: true, Merge: mergeOwn,
			Doc: "Length of a session in seconds."},
			read: valueReader(Int64, func(in *Ingress) *Opt[int64] { return &in.Auth.SessionTimeout })},
	}
}

func targetRows() []row[Ingress] {
	const group = "Target groups"
	target := func(at func(*TargetGroup) *Opt[string]) func(*Ingress) *Opt[string] {
		return func(in *Ingress) *Opt[string] { return at(&in.Target) }
	}
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "target-type", Type: "instance, ip", Default: "--default-target-type", Service: true, Merge: mergeOwn,
			Doc: "Whether nodes (by node port) or pods are registered."},
			read: valueReader(Enum(model.InstanceTargets, model.IPTargets), func(in *Ingress) *Opt[model.TargetType] { return &in.Target.Type })},
		{Row: Row{Group: group, Key: "target-node-labels", Type: "map", Service: true, Merge: mergeOwn,
			Doc: "Labels of the nodes to register, with instance targets."},
			read: valueReader(Map, func(in *Ingress) *Opt[map[string]string] { return &in.Target.NodeLabels })},
		{Row: Row{Group: group, Key: "backend-protocol", Type: "HTTP, HTTPS", Default: "HTTP", Service: true, Merge: mergeOwn,
			Doc: "Protocol towards the targets."},
			read: valueReader(Enum("HTTP", "HTTPS"), target(func(t *TargetGroup) *Opt[string] { return &t.Protocol }))},
		{Row: Row{Group: group, Key: "backend-protocol-version", Type: "HTTP1, HTTP2, GRPC", Default: "HTTP1", Service: true, Merge: mergeOwn,
			Doc: "Version of the protocol towards the targets."},
			read: valueReader(Enum("HTTP1", "HTTP2", "GRPC"), target(func(t *TargetGroup) *Opt[string] { return &t.ProtocolVersion }))},
		{Row: Row{Group: group, Key: "target-group-attributes", Type: "map", Service: true, Merge: mergeOwn,
			Doc: "Attributes of the target groups; those not named are not changed."},
			read: valueReader(Map, func(in *Ingress) *Opt[map[string]string] { return &in.Target.Attributes })},
		{Row: Row{Group: group, Key: "multi-cluster-target-group", Type: "bool", Default: "false", Service: true, Merge: mergeOwn,
			Doc: "Keeps targets that other clusters registered; on if the Ingress or the Service sets it."},
			read: valueReader(Bool, func(in *Ingress) *Opt[bool] { return &in.Target.MultiCluster })},
		{Row: Row{Group: group, Key: "target-control-port.<service.port>", Type: "int", Service: true, Merge: mergeOwn,
			Doc: "Port of the target control agent, with ip targets."},
			read: keyedReader(Int, func(in *Ingress) *map[string]Opt[int32] { return &in.Target.ControlPorts })},
	}
}

func healthRows() []row[Ingress] {
	const group = "Health checks"
	text := func(at func(*TargetGroup) *Opt[string]) func(*Ingress) *Opt[string] {
		return func(in *Ingress) *Opt[string] { return at(&in.Target) }
	}
	num := func(at func(*TargetGroup) *Opt[int32]) func(*Ingress) *Opt[int32] {
		return func(in *Ingress) *Opt[int32] { return at(&in.Target) }
	}
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "healthcheck-port", Type: "traffic-port, int or port name", Default: "traffic-port", Service: true, Merge: mergeOwn,
			Doc: "Port of the check; a name is looked up on the Service."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.HealthPort }))},
		{Row: Row{Group: group, Key: "healthcheck-protocol", Type: "HTTP, HTTPS", Default: "the backend protocol", Service: true, Merge: mergeOwn,
			Doc: "Protocol of the check."},
			read: valueReader(Enum("HTTP", "HTTPS"), text(func(t *TargetGroup) *Opt[string] { return &t.HealthProtocol }))},
		{Row: Row{Group: group, Key: "healthcheck-path", Type: "string", Default: "/, with GRPC /AWS.ALB/healthcheck", Service: true, Merge: mergeOwn,
			Doc: "Path of the check."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.HealthPath }))},
		{Row: Row{Group: group, Key: "healthcheck-interval-seconds", Type: "int", Default: "15", Service: true, Merge: mergeOwn,
			Doc: "Time between checks."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthInterval }))},
		{Row: Row{Group: group, Key: "healthcheck-timeout-seconds", Type: "int", Default: "5", Service: true, Merge: mergeOwn,
			Doc: "Time after which a check has failed."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthTimeout }))},
		{Row: Row{Group: group, Key: "healthy-threshold-count", Type: "int", Default: "2", Service: true, Merge: mergeOwn,
			Doc: "Checks that must succeed in a row."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.HealthyThreshold }))},
		{Row: Row{Group: group, Key: "unhealthy-threshold-count", Type: "int", Default: "2", Service: true, Merge: mergeOwn,
			Doc: "Checks that must fail in a row."},
			read: valueReader(Int, num(func(t *TargetGroup) *Opt[int32] { return &t.UnhealthyThreshold }))},
		{Row: Row{Group: group, Key: "success-codes", Type: "string", Default: "200, with GRPC 12", Service: true, Merge: mergeOwn,
			Doc: "Codes that mean success."},
			read: valueReader(String, text(func(t *TargetGroup) *Opt[string] { return &t.SuccessCodes }))},
	}
}

func addOnRows() []row[Ingress] {
	const group = "WAF and Shield"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "wafv2-acl-arn", Type: "string", Merge: mergeOne,
			Doc: "Web ACL by ARN; none dissociates."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.WAFv2ARN })},
		{Row: Row{Group: group, Key: "wafv2-acl-name", Type: "string", Merge: mergeOne,
			Doc: "Web ACL by name; none dissociates."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.WAFv2Name })},
		{Row: Row{Group: group, Key: "waf-acl-id", Type: "string", Merge: mergeOne,
			Doc: "WAF Classic web ACL; none dissociates."},
			read: valueReader(String, func(in *Ingress) *Opt[string] { return &in.WAFClassic })},
		{Row: Row{Group: group, Key: "web-acl-id", Type: "string", Merge: mergeOne,
			Doc: "Older spelling of waf-acl-id, read where that is absent."},
			read: readWebACLID},
		{Row: Row{Group: group, Key: "shield-advanced-protection", Type: "bool", Merge: mergeOne,
			Doc: "Shield Advanced protection of the load balancer."},
			read: valueReader(Bool, func(in *Ingress) *Opt[bool] { return &in.Shield })},
	}
}
