// Package plan computes the difference between what a stack wants and what is there, as a value:
// steps with an address, a reason and edges to what must come first. It makes no call, keeps no
// state and reads no clock. Carrying a plan out is the engine's work.
package plan
