// Package properties holds what must be true of every group of Ingresses, tried on thousands of random
// ones, from the objects that users write to what stands in AWS after each single step. AWS is the
// plan's own simulation. It has only tests.
package properties
