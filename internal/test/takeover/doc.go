// Package takeover creates the resources that aws-load-balancer-controller created for the recorded cases, in AWS and in a
// cluster. The tests of the package start the controller of Fulcrum and expect that it changes nothing. Only tests use the
// package.
package takeover
