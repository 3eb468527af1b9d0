package wire

import (
	"fmt"
	"reflect"
	"strings"
)

// checkMembers returns an error if one of the paths does not exist in the structure t.
func checkMembers(t reflect.Type, members Members) error {
	for _, path := range members {
		at := t
		for _, name := range strings.Split(path, ".") {
			f, ok := structOf(at).FieldByName(name)
			if !ok {
				return fmt.Errorf("no member %q in %s", path, t)
			}
			at = f.Type
		}
	}
	return nil
}

// structOf returns the structure type to which a pointer or list type refers. It returns the type of an empty structure if
// there is none.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return reflect.TypeFor[struct{}]()
	}
	return t
}

// FirstUnhandledMember returns the path of the first member of in that has a value and is not in members, or "".
func FirstUnhandledMember(in any, members Members) string {
	return firstUnhandled(reflect.ValueOf(in), members, "")
}

func firstUnhandled(v reflect.Value, members Members, prefix string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return firstUnhandled(v.Elem(), members, prefix)
	case reflect.Slice:
		for i := range v.Len() {
			if path := firstUnhandled(v.Index(i), members, prefix); path != "" {
				return path
			}
		}
		return ""
	case reflect.Struct:
	default:
		return strings.TrimSuffix(prefix, ".")
	}
	for _, m := range goNames.describeStruct(v.Type()).members {
		field := v.Field(m.fieldIndex)
		if field.IsZero() {
			continue
		}
		path := prefix + m.name
		switch whole, inside := declaresMember(members, path); {
		case whole:
		case inside:
			if bad := firstUnhandled(field, members, path+"."); bad != "" {
				return bad
			}
		default:
			return path
		}
	}
	return ""
}

// declaresMember reports whether members contains the path itself (whole), and whether it contains the path or a part of it
// (inside).
func declaresMember(members Members, path string) (whole, inside bool) {
	for _, m := range members {
		if m == path {
			return true, true
		}
		if strings.HasPrefix(m, path+".") {
			inside = true
		}
	}
	return false, inside
}

// isSDKField reports whether a field belongs to the SDK and is not a member of the API.
func isSDKField(f reflect.StructField) bool { return f.Name == "ResultMetadata" }
