package cases

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Diff returns a list of the differences of two values, one line each: path, recorded value (-) and actual value
// (+). It returns "" for equal values.
func Diff(want, got any) string {
	r := &diffReporter{}
	cmp.Equal(want, got, cmp.Reporter(r))
	return r.lines.String()
}

// diffReporter is a cmp.Reporter that writes each difference as lines.
type diffReporter struct {
	path  cmp.Path
	lines strings.Builder
}

func (r *diffReporter) PushStep(s cmp.PathStep) { r.path = append(r.path, s) }
func (r *diffReporter) PopStep()                { r.path = r.path[:len(r.path)-1] }

func (r *diffReporter) Report(rs cmp.Result) {
	if rs.Equal() {
		return
	}
	var where []string
	for _, s := range r.path {
		switch s := s.(type) {
		case cmp.MapIndex:
			where = append(where, s.Key().String())
		case cmp.SliceIndex:
			i, j := s.SplitKeys()
			where = append(where, fmt.Sprint(max(i, j)))
		}
	}
	want, got := r.path.Last().Values()
	fmt.Fprintln(&r.lines, strings.Join(where, " | "))
	for _, side := range []struct {
		sign string
		v    reflect.Value
	}{{"-", want}, {"+", got}} {
		if !side.v.IsValid() {
			continue
		}
		text, err := json.Marshal(side.v.Interface())
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&r.lines, "    %s %s\n", side.sign, text)
	}
}
