// Package globalaccelerator implements the operations of AWS Global Accelerator on standard accelerators, their listeners,
// endpoint groups and endpoints, and on address ranges of accounts (BYOIP). It does not support custom routing accelerators,
// cross-account attachments and flow logs.
//
// The service is global. Its API is only in us-west-2. Its endpoints are load balancers, instances and Elastic IP addresses
// in all regions of the account. Package dataplane forwards the traffic.
package globalaccelerator
