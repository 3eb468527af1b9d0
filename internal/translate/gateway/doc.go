// Package gateway is the frontend of Gateways: which ones are served, what their listeners, routes and
// configurations make of a load balancer, and what is written back. One load balancer is one Gateway: an ALB with
// HTTPRoutes and GRPCRoutes (l7*.go), or an NLB with TCPRoutes, UDPRoutes and TLSRoutes (l4*.go).
package gateway
