// Package checkpoint records the desired state that was last applied in full to each stack, as a hash, so that a process
// that starts does not compare all stacks with AWS at the same time. It affects only when a stack is compared with AWS, and
// never which changes are made. The caller stores the records.
package checkpoint
