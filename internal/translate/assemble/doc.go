// Package assemble converts settings and backends to resources of package model: load balancers, listeners, security
// groups, target groups with their TargetGroupBindings, certificates and tags. It is used for stacks of Ingresses,
// Services and Gateways, and its input has the same form for all of them. It reads Secrets only with functions that
// callers provide, and no other objects.
package assemble
