package fault

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// DistortionKind is a way in which a distortion changes a member of a response.
type DistortionKind string

// Kinds of distortions. A kind has no effect on a member whose type does not support it.
const (
	Drop        DistortionKind = "dropped"        // removes the member
	Reorder     DistortionKind = "reordered"      // reverses the list
	SwapCase    DistortionKind = "in other case"  // swaps upper and lower case
	FillDefault DistortionKind = "default filled" // gives a missing member a value
)

// Distortion changes one member of the responses of an operation. It does not change the emulator state.
type Distortion struct {
	// Member is the path of the member in the response, such as "Rules.Conditions.Values". It applies to all items of the
	// lists on the path.
	Member string
	Kind   DistortionKind `json:"How"`
}

// Distort returns a copy of answer, which is the output of an operation, with the member changed.
func (d Distortion) Distort(answer any) any {
	out := deepCopy(reflect.ValueOf(answer))
	d.distortAtPath(out, strings.Split(d.Member, "."))
	return out.Interface()
}

func (d Distortion) distortAtPath(v reflect.Value, path []string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.distortAtPath(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.distortAtPath(v.Index(i), path)
		}
	case reflect.Struct:
		f := v.FieldByName(path[0])
		switch {
		case !f.IsValid():
		case len(path) > 1:
			d.distortAtPath(f, path[1:])
		default:
			d.distortMember(f)
		}
	}
}

func (d Distortion) distortMember(f reflect.Value) {
	switch d.Kind {
	case Drop:
		f.SetZero()
	case Reorder:
		if f.Kind() == reflect.Slice {
			for i, j := 0, f.Len()-1; i < j; i, j = i+1, j-1 {
				x := reflect.ValueOf(f.Index(i).Interface())
				f.Index(i).Set(f.Index(j))
				f.Index(j).Set(x)
			}
		}
	case SwapCase:
		replaceStrings(f, func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, s)
		})
	case FillDefault:
		if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			setNonZero(f)
		}
	}
}

// replaceStrings replaces each string in f by the result of change.
func replaceStrings(f reflect.Value, change func(string) string) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(change(f.String()))
	case reflect.Pointer:
		if !f.IsNil() {
			replaceStrings(f.Elem(), change)
		}
	case reflect.Slice:
		for i := range f.Len() {
			replaceStrings(f.Index(i), change)
		}
	}
}

// setNonZero sets a member to a value other than its zero value, if it can.
func setNonZero(f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString("default")
	case reflect.Int32, reflect.Int64:
		f.SetInt(1)
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
		setNonZero(f.Elem())
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		setNonZero(f.Index(0))
	}
}

// deepCopy returns a copy of v that shares no pointers or slices with v. It does not copy unexported fields of structs
// deeply.
func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && out.Field(i).CanSet() {
				out.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	}
	return out
}

// Distortions returns the distortions of each member of an operation's output type (answer). It includes only kinds that the
// type of the member supports.
func Distortions(answer reflect.Type) []Distortion {
	var out []Distortion
	eachMember(answer, "", nil, func(path string, t reflect.Type) {
		kinds := []DistortionKind{Drop}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Slice:
			kinds = append(kinds, Reorder)
			if e := t.Elem(); e.Kind() == reflect.String {
				kinds = append(kinds, SwapCase, FillDefault)
			}
		case t.Kind() == reflect.String:
			kinds = append(kinds, SwapCase, FillDefault)
		case t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
			kinds = append(kinds, FillDefault)
		}
		for _, kind := range kinds {
			out = append(out, Distortion{Member: path, Kind: kind})
		}
	})
	return out
}

// eachMember calls do with the path and the type of each member of type t, including nested members. It skips struct types
// that contain themselves. above are the struct types that contain t.
func eachMember(t reflect.Type, path string, above []reflect.Type, do func(string, reflect.Type)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(above, t) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Name == "ResultMetadata" {
			continue
		}
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		do(name, f.Type)
		eachMember(f.Type, name, append(slices.Clone(above), t), do)
	}
}
