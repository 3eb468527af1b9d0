// Package checkpoint records the desired state that was last applied in full to each stack, as a hash, so that a process that
// starts does not compare all stacks with AWS at once. It affects only when a stack is compared with AWS, and never what is
// done with it. The caller stores the records.
package checkpoint
