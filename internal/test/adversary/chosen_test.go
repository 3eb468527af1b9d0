package adversary

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// coveringSeeds returns a small selection of the first n seeds that covers all elements of their histories: each setup, each
// field of a kind of object, each annotation with a valid or an invalid value, each deletion. Nearly every fault
// needs only one or two of these elements.
func coveringSeeds(n uint64) []uint64 {
	var of [][]string
	for seed := range n {
		of = append(of, elementsOf(historyOf(seed)))
	}
	var out []uint64
	for _, seed := range seeds.Cover(of) {
		out = append(out, uint64(seed))
	}
	return out
}

// elementsOf returns the elements of a history without duplicates.
func elementsOf(h history) []string {
	known := map[string]bool{
		h.setup.String():         true,
		"denied " + h.deniedRead: true,
		fmt.Sprint("sick ", h.hasUnhealthyPods, " in ", h.access): true,
		fmt.Sprint("undoes ", h.revertsWrites, h.access):          true,
	}
	for _, m := range h.moves {
		known[fmt.Sprint("wait ", m.wait)] = true
		switch {
		case m.documents != "":
			known["workload"] = true
		case m.object == nil:
			known["delete "+string(m.deletedRef.Kind)] = true
		default:
			addElements(m, known)
		}
	}
	var out []string
	for e := range known {
		out = append(out, e)
	}
	slices.Sort(out)
	return out
}

// addElements adds the elements of an object that the attacker writes.
func addElements(m move, known map[string]bool) {
	const large = 20000 // bytes; larger objects mostly repeat parts of smaller ones
	kind, _ := cluster.KindOf(m.object)
	known[fmt.Sprint(kind, " stripped ", m.removesFinalizers)] = true
	data, err := json.Marshal(m.object)
	if err != nil {
		panic(err)
	}
	if len(data) > large {
		known["large "+string(kind)] = true
		return
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		panic(err)
	}
	delete(fields["metadata"].(map[string]any), "annotations")
	addFields(string(kind), fields, known)
	for key, value := range m.object.GetAnnotations() {
		row := rowOf(key)
		known[fmt.Sprintf("%s %s broken: %t", kind, row, slices.Contains(annotationChoices[row].invalidValues, value))] = true
	}
}

// rowOf returns the key of an annotation in the settings table, or the annotation itself if it is not in the table.
func rowOf(annotation string) string {
	key := strings.TrimPrefix(annotation, annotationPrefix)
	if _, ok := annotationChoices[key]; ok {
		return key
	}
	for row := range annotationChoices {
		if head, _, variable := strings.Cut(row, "<"); variable && strings.HasPrefix(key, head) {
			return row
		}
	}
	return key
}

// addFields adds the fields of a value. All elements of a list count as one.
func addFields(path string, value any, known map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			addFields(path+"."+key, v, known)
		}
	case []any:
		for _, v := range value {
			addFields(path+"[]", v, known)
		}
	default:
		known[path] = true
	}
}
