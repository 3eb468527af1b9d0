// Package elbv2 implements the operations of Elastic Load Balancing v2: load balancers, listeners, rules, target groups,
// targets, trust stores, tags, capacity reservations and quotas.
//
// Operations are methods with the SDK's input and output types. They make AWS's
// checks, in AWS's order and with its error codes, and store resources in the form in
// which AWS describes them. The state is in package store; traffic and real health
// checks are in package dataplane.
//
// Not checked, because the emulator does not have the services: the contents of S3
// objects (trust stores, log buckets other than those configured as denied), Lambda
// functions, and Cognito user pools beyond their ARN. Gateway Load Balancers and rules
// on listeners of Network Load Balancers are rejected.
package elbv2
