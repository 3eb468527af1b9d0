// Package elbv2 implements the operations of Elastic Load Balancing v2: load balancers, listeners, rules, target groups,
// targets, trust stores, tags, capacity reservations and quotas.
//
// Operations are methods with the SDK's input and output types. They make the checks of AWS, in the order of AWS and with
// its error codes, and store resources in the form in which AWS describes them. Package store contains the state. Package
// dataplane forwards traffic and makes real health checks.
//
// The emulator does not check the contents of S3 objects (trust stores), access to log buckets other than those configured
// as denied, Lambda functions, and Cognito user pools except for their ARNs. It rejects Gateway Load Balancers and rules on
// listeners of Network Load Balancers.
package elbv2
