// Package globalaccelerator implements the operations of AWS Global Accelerator on standard accelerators, their listeners,
// endpoint groups and endpoints, and on address ranges of accounts (BYOIP). It does not support custom routing,
// cross-account attachments and flow logs.
//
// The service is global: its API is only in us-west-2, and its endpoints are the load balancers, instances and
// elastic IPs of all regions of the account. Package dataplane forwards the traffic.
package globalaccelerator
