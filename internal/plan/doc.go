// Package plan is the difference between what a stack wants and what is there, as a value: steps with an address, a reason
// and edges to what must come first, and their text. Package planner makes plans out of the parts below; carrying one out
// is the engine's work. None of these packages makes a call, keeps state or reads the clock.
package plan
