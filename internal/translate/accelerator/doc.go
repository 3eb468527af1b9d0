// Package accelerator is the frontend for GlobalAccelerators. Each is a stack of its own with one member. Its endpoints are
// references to other objects: these contribute no settings, and get no finalizer and no status from it. A fault of such an
// object leaves out one endpoint.
package accelerator
