package settings

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func authRows() []row[Ingress] {
	const group = "Authentication"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "auth-type", Type: "none, oidc, cognito", Default: "none", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Authentication of users before the action of a rule, on HTTPS listeners."},
			read: valueReader(EnumParser(AuthNone, AuthOIDC, AuthCognito), func(in *Ingress) *Opt[AuthType] { return &in.Auth.Type })},
		{Row: Row{Group: group, Key: "auth-idp-cognito", Type: "json", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Cognito user pool that authenticates users."},
			read: valueReader(parseCognito, func(in *Ingress) *Opt[CognitoIDP] { return &in.Auth.Cognito })},
		{Row: Row{Group: group, Key: "auth-idp-oidc", Type: "json", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "OpenID Connect provider; secretName names a Secret with clientID and clientSecret."},
			read: valueReader(parseOIDC, func(in *Ingress) *Opt[OIDCIDP] { return &in.Auth.OIDC })},
		{Row: Row{Group: group, Key: "auth-on-unauthenticated-request", Type: "string", Default: "authenticate", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Handling of requests without a session: authenticate, allow or deny."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Auth.OnUnauthenticated })},
		{Row: Row{Group: group, Key: "auth-scope", Type: "string", Default: "openid", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Scopes to request from the identity provider, separated by spaces."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Auth.Scope })},
		{Row: Row{Group: group, Key: "auth-session-cookie", Type: "string", Default: "AWSELBAuthSessionCookie", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Name of the session cookie."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Auth.SessionCookie })},
		{Row: Row{Group: group, Key: "auth-session-timeout", Type: "int", Default: "604800", Service: true, Merge: mergeOwn, Counterpart: ruleConfigKind,
			Doc: "Length of a session in seconds."},
			read: valueReader(ParseInt64, func(in *Ingress) *Opt[int64] { return &in.Auth.SessionTimeout })},
	}
}

func targetRows() []row[Ingress] {
	const group = "Target groups"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "target-type", Type: "instance, ip", Default: "--default-target-type", Service: true, Merge: mergeOwn, Counterpart: targetsField + "targetType",
			Doc: "Targets to register: nodes, by node port (instance), or pods (ip)."},
			read: valueReader(EnumParser(model.InstanceTargets, model.IPTargets), func(in *Ingress) *Opt[model.TargetType] { return &in.Target.Type })},
		{Row: Row{Group: group, Key: "target-node-labels", Type: "map", Service: true, Merge: mergeOwn, Counterpart: targetsField + "nodeSelector",
			Doc: "Labels that select the nodes to register as instance targets."},
			read: valueReader(parseLimitedMap, func(in *Ingress) *Opt[map[string]string] { return &in.Target.NodeLabels })},
		{Row: Row{Group: group, Key: "backend-protocol", Type: "HTTP, HTTPS", Default: "HTTP", Service: true, Merge: mergeOwn, Counterpart: targetsField + "protocol",
			Doc: "Protocol of connections to the targets."},
			read: valueReader(EnumParser("HTTP", "HTTPS"), func(in *Ingress) *Opt[string] { return &in.Target.Protocol })},
		{Row: Row{Group: group, Key: "backend-protocol-version", Type: "HTTP1, HTTP2, GRPC", Default: "HTTP1", Service: true, Merge: mergeOwn, Counterpart: targetsField + "protocolVersion",
			Doc: "HTTP version of requests to the targets."},
			read: valueReader(EnumParser("HTTP1", "HTTP2", "GRPC"), func(in *Ingress) *Opt[string] { return &in.Target.ProtocolVersion })},
		{Row: Row{Group: group, Key: "target-group-attributes", Type: "map", Service: true, Merge: mergeOwn, Counterpart: targetsField + "targetGroupAttributes",
			Doc: "Attributes of the target groups; other attributes are not changed."},
			read: valueReader(parseLimitedMap, func(in *Ingress) *Opt[map[string]string] { return &in.Target.Attributes })},
		{Row: Row{Group: group, Key: "multi-cluster-target-group", Type: "bool", Default: "false", Service: true, Merge: mergeOwn, Counterpart: targetsField + "enableMultiCluster",
			Doc: "Keeps targets that other clusters have registered. Enabled if the Ingress or the Service enables it."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.Target.MultiCluster })},
		{Row: Row{Group: group, Key: "target-control-port.<service.port>", Type: "int", Service: true, Merge: mergeOwn, Counterpart: targetsField + "targetControlPort",
			Doc: "Port of the target control agent in the pods of this Service port, with ip targets."},
			read: keyedReader(ParseInt, func(in *Ingress) *map[string]Opt[int32] { return &in.Target.ControlPorts })},
	}
}

func healthRows() []row[Ingress] {
	const group = "Health checks"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "healthcheck-port", Type: "traffic-port, int or port name", Default: "traffic-port", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthCheckPort",
			Doc: "Port of the health check; a port name is looked up in the Service."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Target.HealthPort })},
		{Row: Row{Group: group, Key: "healthcheck-protocol", Type: "HTTP, HTTPS", Default: "the backend protocol", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthCheckProtocol",
			Doc: "Protocol of the health check."},
			read: valueReader(EnumParser("HTTP", "HTTPS"), func(in *Ingress) *Opt[string] { return &in.Target.HealthProtocol })},
		{Row: Row{Group: group, Key: "healthcheck-path", Type: "string", Default: "/, with GRPC /AWS.ALB/healthcheck", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthCheckPath",
			Doc: "Path of the health check."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Target.HealthPath })},
		{Row: Row{Group: group, Key: "healthcheck-interval-seconds", Type: "int", Default: "15", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthCheckInterval",
			Doc: "Seconds between health checks."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.Target.HealthInterval })},
		{Row: Row{Group: group, Key: "healthcheck-timeout-seconds", Type: "int", Default: "5", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthCheckTimeout",
			Doc: "Seconds without a response after which a health check fails."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.Target.HealthTimeout })},
		{Row: Row{Group: group, Key: "healthy-threshold-count", Type: "int", Default: "2", Service: true, Merge: mergeOwn, Counterpart: targetsField + "healthyThresholdCount",
			Doc: "Consecutive health checks that must succeed before a target is healthy."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.Target.HealthyThreshold })},
		{Row: Row{Group: group, Key: "unhealthy-threshold-count", Type: "int", Default: "2", Service: true, Merge: mergeOwn, Counterpart: targetsField + "unhealthyThresholdCount",
			Doc: "Consecutive health checks that must fail before a target is unhealthy."},
			read: valueReader(ParseInt, func(in *Ingress) *Opt[int32] { return &in.Target.UnhealthyThreshold })},
		{Row: Row{Group: group, Key: "success-codes", Type: "string", Default: "200, with GRPC 12", Service: true, Merge: mergeOwn, Counterpart: targetsField + "matcher",
			Doc: "Response codes of a successful health check."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.Target.SuccessCodes })},
	}
}

func addOnRows() []row[Ingress] {
	const group = "WAF and Shield"
	return []row[Ingress]{
		{Row: Row{Group: group, Key: "wafv2-acl-arn", Type: "string", Merge: mergeOne, Counterpart: configField + "wafV2",
			Doc: "ARN of the web ACL to associate; none disassociates the web ACL."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.WAFv2ARN })},
		{Row: Row{Group: group, Key: "wafv2-acl-name", Type: "string", Merge: mergeOne, Counterpart: configField + "wafV2",
			Doc: "Name of the web ACL to associate; none disassociates the web ACL."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.WAFv2Name })},
		{Row: Row{Group: group, Key: "waf-acl-id", Type: "string", Merge: mergeOne, Counterpart: "see the note",
			Doc: "ID of the WAF Classic web ACL to associate; none disassociates the web ACL."},
			read: valueReader(ParseString, func(in *Ingress) *Opt[string] { return &in.WAFClassic })},
		{Row: Row{Group: group, Key: "web-acl-id", Type: "string", Merge: mergeOne, Counterpart: "see the note",
			Doc: "Older name of waf-acl-id; read only if waf-acl-id is not set."},
			read: readWebACLID},
		{Row: Row{Group: group, Key: "shield-advanced-protection", Type: "bool", Merge: mergeOne, Counterpart: configField + "shieldConfiguration",
			Doc: "Whether Shield Advanced protects the load balancer."},
			read: valueReader(ParseBool, func(in *Ingress) *Opt[bool] { return &in.Shield })},
	}
}
