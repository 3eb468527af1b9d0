// Package addons plans the associations of the load balancer of a stack with other AWS services: web ACLs of WAFv2 and WAF
// Classic, and protections of Shield Advanced.
package addons
