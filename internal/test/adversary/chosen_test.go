package adversary

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// chosen returns few of the first n seeds, so that whatever a history of these has, a chosen one has too: a setup, a
// field of a kind of object, an annotation with a readable or a broken value, a deletion. What a history finds is
// nearly always of one or two of these.
func chosen(n uint64) []uint64 {
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

// elementsOf returns what a history consists of, each once.
func elementsOf(h history) []string {
	known := map[string]bool{
		h.setup.String():     true,
		"denied " + h.denied: true,
		fmt.Sprint("sick ", h.sick, " in ", h.access): true,
		fmt.Sprint("undoes ", h.undoes, h.access):     true,
	}
	for _, m := range h.moves {
		known[fmt.Sprint("wait ", m.wait)] = true
		switch {
		case m.write != "":
			known["workload"] = true
		case m.object == nil:
			known["delete "+string(m.gone.Kind)] = true
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

// addElements notes what an object has that the attacker writes.
func addElements(m move, known map[string]bool) {
	const large = 20000 // bytes, of which a part is that of a smaller object many times
	kind, _ := cluster.KindOf(m.object)
	known[fmt.Sprint(kind, " stripped ", m.strip)] = true
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
		known[fmt.Sprintf("%s %s broken: %t", kind, row, slices.Contains(choices[row].bad, value))] = true
	}
}

// rowOf returns the key of an annotation in the table of settings, or the annotation itself if it has none there.
func rowOf(annotation string) string {
	key := strings.TrimPrefix(annotation, annotationPrefix)
	if _, ok := choices[key]; ok {
		return key
	}
	for row := range choices {
		if head, _, variable := strings.Cut(row, "<"); variable && strings.HasPrefix(key, head) {
			return row
		}
	}
	return key
}

// addFields notes the fields of a value, those of lists once for all their elements.
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
