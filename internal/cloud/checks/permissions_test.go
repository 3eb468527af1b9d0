package checks

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// TestDoctorChecksAllReadPermissions checks that the command doctor checks every read permission that the controller needs,
// and no permission that the controller does not need.
func TestDoctorChecksAllReadPermissions(t *testing.T) {
	c := &Checker{Client: &sdk.Client{}}
	tried := c.readChecks()
	maps.Copy(tried, c.acceleratorReadChecks())
	needed := map[string]bool{}
	for _, s := range slices.Concat(rights.AWSStatements, rights.AcceleratorStatements) {
		for _, a := range s.Actions {
			needed[a.Name] = true
			if (s.Sid == "Read" || s.Sid == "ReadAccelerators") && tried[a.Name] == nil {
				t.Errorf("%s is not checked", a.Name)
			}
		}
	}
	for name := range tried {
		if !needed[name] {
			t.Errorf("%s is checked, but the controller does not need it", name)
		}
	}
}

// TestUnansweredCallsShowNoPermission checks that a throttled call and a failure of AWS show neither that a permission is
// granted nor that it is refused.
func TestUnansweredCallsShowNoPermission(t *testing.T) {
	for name, c := range map[string]struct {
		code   string
		status int
		want   Permission
	}{
		"throttled":             {"Throttling", 400, PermissionUnknown},
		"a failure of AWS":      {"InternalFailure", 500, PermissionUnknown},
		"denied":                {"AccessDenied", 403, PermissionRefused},
		"the ID does not exist": {"LoadBalancerNotFound", 400, PermissionGranted},
	} {
		err := &smithy.OperationError{ServiceID: "S", OperationName: "O", Err: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: c.status}}, Err: &smithy.GenericAPIError{Code: c.code, Message: "m"},
		}}
		if got, _ := permissionOf(err); got != c.want {
			t.Errorf("%s: permission %d, want %d", name, got, c.want)
		}
	}
}
