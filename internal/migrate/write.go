package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// manifestObject returns the content of an object without its status and without the metadata that the API server adds.
func manifestObject(o Object) (map[string]any, error) {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		for _, key := range []string{"creationTimestamp", "generation", "resourceVersion", "uid", "managedFields"} {
			delete(meta, key)
		}
	}
	return out, nil
}

// WriteYAML writes objects as YAML documents, with comments about the origins of the objects and of their parts.
func WriteYAML(w io.Writer, objects []Object) error {
	for i, o := range objects {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		content, err := manifestObject(o)
		if err != nil {
			return err
		}
		text, err := sigsyaml.Marshal(content)
		if err != nil {
			return err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return err
		}
		for _, path := range slices.Sorted(maps.Keys(o.PartOrigins)) {
			if n := nodeAt(&doc, path); n != nil {
				n.HeadComment = commentLine(o.PartOrigins[path])
			}
		}
		var out bytes.Buffer
		if o.Origin != "" {
			fmt.Fprintf(&out, "%s\n", commentLine("From "+o.Origin))
		}
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := e.Encode(&doc); err != nil {
			return err
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// commentLine returns a text as a comment of one line. Control characters and line separators become spaces.
func commentLine(text string) string {
	return "# " + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
}

// nodeAt returns the node at a path such as "spec.rules[0]"; nil if there is none. For a scalar it returns the node of the
// key.
func nodeAt(doc *yaml.Node, path string) *yaml.Node {
	n := doc.Content[0]
	for part := range strings.SplitSeq(path, ".") {
		key, rest, indexed := strings.Cut(part, "[")
		i := 0
		for ; i+1 < len(n.Content) && n.Content[i].Value != key; i += 2 {
		}
		if i+1 >= len(n.Content) {
			return nil
		}
		if n.Content[i+1].Kind == yaml.ScalarNode {
			n = n.Content[i]
			continue
		}
		n = n.Content[i+1]
		if indexed {
			index, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
			if err != nil || index >= len(n.Content) {
				return nil
			}
			n = n.Content[index]
		}
	}
	return n
}

// WriteJSON writes objects as a sequence of JSON objects.
func WriteJSON(w io.Writer, objects []Object) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	for _, o := range objects {
		content, err := manifestObject(o)
		if err == nil {
			err = e.Encode(content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
