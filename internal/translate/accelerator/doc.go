// Package accelerator is the frontend for GlobalAccelerators. Each GlobalAccelerator has its own stack, of which it is the
// only member. Its endpoints refer to other objects. These objects contribute no settings, and the accelerator sets no
// finalizer and no status on them. If such an object cannot be used, only its endpoint is left out.
package accelerator
