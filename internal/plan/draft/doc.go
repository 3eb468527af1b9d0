// Package draft is a plan in the making: its steps, questions, waits and findings, and what all parts of a plan do with them.
package draft
