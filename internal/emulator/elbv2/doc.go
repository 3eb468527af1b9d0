// Package elbv2 holds the operations of Elastic Load Balancing v2: load
// balancers, listeners, rules, target groups, targets, trust stores, tags,
// capacity reservations and quotas.
//
// Operations are plain methods on the SDK's input and output types. They check
// what AWS checks, in its order and with its codes, and keep what they accept
// in the form in which AWS reads it back. State lives in the store package;
// traffic and real health checks are the data plane's.
//
// Not checked, because the services behind them do not exist here: the contents of S3
// objects (trust stores, log buckets other than those configured as denied), Lambda
// functions, and Cognito user pools beyond their ARN. Gateway Load Balancers and rules
// on listeners of Network Load Balancers are rejected.
package elbv2
