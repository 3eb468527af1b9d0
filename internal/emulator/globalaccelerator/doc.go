// Package globalaccelerator holds the operations of AWS Global Accelerator on standard accelerators, their listeners,
// endpoint groups and endpoints, and those that bring along ranges of addresses. Custom routing, cross-account
// attachments and flow logs are missing.
//
// The service is global: it answers in us-west-2 alone, and its endpoints are the load balancers, instances and elastic
// IPs of all regions of the account. How traffic flows is decided by the data plane.
package globalaccelerator
