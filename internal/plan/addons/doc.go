// Package addons plans the associations of the load balancer of a stack with other AWS services: WAFv2 and WAF Classic web
// ACLs, and Shield Advanced protections.
package addons
