package certificates

import (
	"errors"
	"fmt"
	"testing"

	dnstypes "github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// TestRefusedBatchesAreRecognized checks that isRefusedBatch finds the text in both fields in which the SDK returns the
// errors of a change batch, and not in other errors.
func TestRefusedBatchesAreRecognized(t *testing.T) {
	const exists = "Tried to create resource record set [name='a.', type='CNAME'] but it already exists"
	const conflict = "a conflicting RRSet of type A with the same DNS name already exists in zone a."
	text := "[" + exists + "]"
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"in the message":  {&dnstypes.InvalidChangeBatch{Message: &text}, true},
		"in the messages": {&dnstypes.InvalidChangeBatch{Messages: []string{exists}}, true},
		"wrapped":         {fmt.Errorf("make: %w", &dnstypes.InvalidChangeBatch{Message: &text}), true},
		"a conflict":      {&dnstypes.InvalidChangeBatch{Messages: []string{conflict}}, false},
		"another error":   {errors.New(exists), false},
		"none":            {nil, false},
	} {
		if got := isRefusedBatch(c.err, "but it already exists"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
