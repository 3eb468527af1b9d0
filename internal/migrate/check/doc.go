// Package check compares the desired state of Ingresses with that of the Gateway that replaces them. It evaluates the rules
// of both for requests that distinguish all conditions of these rules. It also compares settings that do not affect answers.
package check
