package globalaccelerator

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	maxTextLength     = 255 // maximum number of bytes in most string members
	reservedTagPrefix = "aws:"
)

var (
	namePattern   = regexp.MustCompile(`^[a-zA-Z0-9_]([a-zA-Z0-9._-]{0,62}[a-zA-Z0-9_])?$`)
	pathPattern   = regexp.MustCompile(`^/[-a-zA-Z0-9@:%_\\+.~#?&/=]*$`)
	regionPattern = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)
)

// firstError returns the first error that is not nil, or nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkPresent(member string, given bool) error {
	if !given {
		return invalidArgumentError(store.UnprovenSource, "The parameter %s is required", member)
	}
	return nil
}

func checkShortText(member string, v *string) error {
	if len(store.Value(v)) > maxTextLength {
		return invalidArgumentError(store.UnprovenSource, "The parameter %s is longer than 255 characters", member)
	}
	return nil
}

func checkRange(member string, v *int32, least, most int32) error {
	if v != nil && (*v < least || *v > most) {
		return invalidArgumentError(store.UnprovenSource, "The value %d of parameter %s is not between %d and %d", *v, member, least, most)
	}
	return nil
}

func checkMaxItems(member string, n, most int) error {
	if n > most {
		return invalidArgumentError(store.UnprovenSource, "The parameter %s has more than %d items", member, most)
	}
	return nil
}

func checkNotEmpty(member string, n int) error {
	if n == 0 {
		return invalidArgumentError(store.UnprovenSource, "The parameter %s is empty", member)
	}
	return nil
}

// checkEnum returns an error if a value is not in the enumeration. It accepts the empty value, which means that the member
// is not in the request.
func checkEnum[T ~string](member string, v T, values []T) error {
	if v != "" && !slices.Contains(values, v) {
		return invalidArgumentError(store.UnprovenSource, "The value '%s' of parameter %s is not known", string(v), member)
	}
	return nil
}

func checkName(name *string) error {
	if name != nil && !namePattern.MatchString(*name) {
		return invalidArgumentError(store.UnprovenSource, "The name '%s' must have 1 to 64 letters, digits, underscores, periods or hyphens, and must not begin or end with a period or hyphen", *name)
	}
	return nil
}

func checkRegion(w *store.Store, region string) error {
	if !regionPattern.MatchString(region) || store.AWSPartitionOfRegion(region).Name != w.AWSPartition().Name {
		return invalidArgumentError(store.UnprovenSource, "The region '%s' is not valid", region)
	}
	return nil
}

// checkTags checks the tags in a request for a resource that already has the tags in have.
func checkTags(given []types.Tag, have map[string]string) error {
	all := map[string]bool{}
	for key := range have {
		all[key] = true
	}
	for _, t := range given {
		key := store.Value(t.Key)
		switch {
		case key == "" || utf8.RuneCountInString(key) > 128:
			return invalidArgumentError(store.UnprovenSource, "The tag key '%s' must have 1 to 128 characters", key)
		case t.Value == nil || utf8.RuneCountInString(*t.Value) > 256:
			return invalidArgumentError(store.UnprovenSource, "The value of tag '%s' must have at most 256 characters", key)
		case strings.HasPrefix(key, reservedTagPrefix):
			return invalidArgumentError(store.UnprovenSource, "The tag key '%s' begins with aws:, which is reserved", key)
		}
		all[key] = true
	}
	if len(all) > maxTags {
		return invalidArgumentError(store.UnprovenSource, "A resource cannot have more than %d tags", maxTags)
	}
	return nil
}
