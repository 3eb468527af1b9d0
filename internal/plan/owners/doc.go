// Package owners reports which live target groups serve the desired ones, and to which members live rules and target groups
// belong.
package owners
