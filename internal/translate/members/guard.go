package members

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// DisablesDeletionProtection reports whether the load balancer attributes in an annotation explicitly disable deletion
// protection. annotation is the key of the annotation.
func DisablesDeletionProtection(annotations map[string]string, annotation string) bool {
	attributes, err := settings.ParseMap(annotations[annotation])
	on, parseErr := strconv.ParseBool(attributes[plan.DeletionProtectionAttribute])
	return err == nil && parseErr == nil && !on
}

// DeletionProtectionFinding returns a finding if the load balancer of an object that is being deleted must not be deleted;
// nil otherwise. This is the case if the load balancer attributes in an annotation enable deletion protection, or if they
// name it and are not valid.
func DeletionProtectionFinding(object finding.Ref, annotations map[string]string, annotation string) *finding.Finding {
	raw := annotations[annotation]
	attributes, err := settings.ParseMap(raw)
	if err != nil && !strings.Contains(raw, plan.DeletionProtectionAttribute) {
		return nil
	}
	if err == nil {
		value, ok := attributes[plan.DeletionProtectionAttribute]
		if !ok {
			return nil
		}
		on, parseErr := strconv.ParseBool(value)
		if parseErr == nil && !on {
			return nil
		}
	}
	return &finding.Finding{
		Object: object, Field: annotation, Reason: finding.DeletionProtected, Severity: finding.Error,
		Message: fmt.Sprintf("the %s is being deleted, but it enables deletion protection of its load balancer; neither is deleted", object.Kind),
		Fix:     "set " + plan.DeletionProtectionAttribute + "=false first", Blocks: finding.BlocksStack,
	}
}
