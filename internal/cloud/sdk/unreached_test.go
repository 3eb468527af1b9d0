package sdk

import (
	"errors"
	"net"
	"testing"

	"github.com/aws/smithy-go"
)

// TestIsUnreached checks that only errors that may disappear count as unreached, because the controller then tries again at
// startup.
func TestIsUnreached(t *testing.T) {
	call := func(err error) error {
		return &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeVpcs", Err: err}
	}
	for name, x := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":       {nil, false},
		"no connection": {call(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), true},
		"throttled":     {call(&smithy.GenericAPIError{Code: "RequestLimitExceeded"}), true},
		"denied":        {call(&smithy.GenericAPIError{Code: "UnauthorizedOperation"}), false},
		"no VPC":        {errors.New("no VPC has the tags"), false},
		"not set":       {&notSetError{"VPC not set", call(errors.New("no metadata"))}, false},
	} {
		if got := IsUnreached(x.err); got != x.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
