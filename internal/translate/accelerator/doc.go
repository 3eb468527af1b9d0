// Package accelerator is the frontend of GlobalAccelerators. Each is a stack of its own with one member. What it points at
// are references: they contribute no setting, get no finalizer and no status from it, and their faults leave out one
// endpoint.
package accelerator
