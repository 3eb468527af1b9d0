// Package accelerator is the frontend for GlobalAccelerators. Each GlobalAccelerator has its own stack with one member.
// Its endpoints are references to other objects: these contribute no settings, and the accelerator sets no finalizer
// and no status on them. If such an object cannot be used, only its endpoint is left out.
package accelerator
