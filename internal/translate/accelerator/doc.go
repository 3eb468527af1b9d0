// Package accelerator translates GlobalAccelerators to stacks. Each GlobalAccelerator is the only member of its stack.
// Its endpoints refer to other objects, such as Ingresses. These objects contribute no settings, and the package sets no
// finalizer and no status on them. If such an object cannot be used, only its endpoint is left out.
package accelerator
