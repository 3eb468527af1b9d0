// Package properties has property tests with thousands of random IngressGroups, from the objects of users to the
// state of AWS after each step of a plan. Package plantest simulates AWS. It contains only tests.
package properties
