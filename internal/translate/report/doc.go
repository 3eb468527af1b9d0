// Package report turns the outcome of a run into what is written back, for every kind alike: events for
// findings on the objects to blame, success where something changed, and the status of the members. A
// frontend gives how a status of its kind is written.
package report
