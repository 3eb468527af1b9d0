// Package takeover creates in AWS and in a cluster the resources that another controller has created for the recorded
// cases, with the same names and annotations. Its tests start a controller and expect that it changes nothing. Only
// tests use it.
package takeover
