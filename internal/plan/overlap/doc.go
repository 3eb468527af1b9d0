// Package overlap determines which listener rules may match the same request, by their hosts and paths, without
// comparing each rule with each other one.
package overlap
