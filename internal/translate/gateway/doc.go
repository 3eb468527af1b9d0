// Package gateway is the frontend for Gateways: it translates a Gateway with its listeners, routes and configurations into
// the model with findings, and returns patches for status and events. A Gateway is one load balancer: an ALB for HTTPRoutes
// and GRPCRoutes (l7*.go), or an NLB for TCPRoutes, UDPRoutes and TLSRoutes (l4*.go).
package gateway
