// Package checkpoint records, as a hash, the desired state that was last applied completely to each stack. With these
// records, a controller that starts does not have to compare all stacks with AWS at the same time. The records affect only
// when a stack is compared with AWS, and never which changes are made. The caller stores the records.
package checkpoint
