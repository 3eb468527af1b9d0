// Package properties has property tests with thousands of random IngressGroups and Services. They translate objects of
// users, make plans, and check the state of AWS after each step. Package plantest simulates AWS.
package properties
