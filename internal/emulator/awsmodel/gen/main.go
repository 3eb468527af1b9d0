// Command gen rewrites the models of package awsmodel from AWS's API models:
//
//	go run ./internal/emulator/awsmodel/gen -from DIRECTORY internal/emulator/awsmodel/models
//
// DIRECTORY contains a file for each service, named as in modelFileNames, in the format of botocore's service-2.json.
// Without -from, the command only removes the operations that the emulator does not have from the existing models.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// modelFileNames maps the signing name of a service to the name of its file without ".json".
var modelFileNames = map[string]string{
	"acm": "acm", "ec2": "ec2", "elasticloadbalancing": "elbv2", "globalaccelerator": "globalaccelerator", "iam": "iam",
	"route53": "route53", "shield": "shield", "sts": "sts", "tagging": "resourcegroupstaggingapi",
	"waf-regional": "waf-regional", "wafv2": "wafv2",
}

func main() {
	from := flag.String("from", "", "directory with AWS's models")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("the directory of the models is missing: pass it as argument")
	}
	for name, operations := range emulator.New(emulator.Options{}).Operations() {
		if err := writeModel(*from, flag.Arg(0), name, operations); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

func writeModel(from, to, name string, operations []string) error {
	file := modelFileNames[name]
	if file == "" {
		return fmt.Errorf("unknown service: add its file to modelFileNames")
	}
	out := filepath.Join(to, file+".json")
	var m model
	var err error
	if from == "" {
		m, err = readReduced(out)
	} else {
		m, err = readOriginal(filepath.Join(from, file+".json"))
	}
	if err != nil {
		return err
	}
	m.Service = name
	if err := m.reduce(operations); err != nil {
		return err
	}
	return os.WriteFile(out, m.encode(), 0o600)
}

// model is the reduced model of a service. Its members are those that package awsmodel reads.
type model struct {
	Service, Protocol string
	Operations        map[string]operation
	Shapes            map[string]shape
}

type operation struct {
	Method  string   `json:"method,omitempty"`
	Path    string   `json:"path,omitempty"`
	Root    string   `json:"root,omitempty"`
	Wrapper string   `json:"wrapper,omitempty"`
	Input   string   `json:"input,omitempty"`
	Output  string   `json:"output,omitempty"`
	Errors  []string `json:"errors,omitempty"` // error codes on the wire
}

type shape struct {
	Type     string            `json:"type"`
	Members  map[string]member `json:"members,omitempty"`
	Required []string          `json:"required,omitempty"`
	Enum     []string          `json:"enum,omitempty"`
	Min      *float64          `json:"min,omitempty"`
	Max      *float64          `json:"max,omitempty"`
	Pattern  string            `json:"pattern,omitempty"`
	Item     *member           `json:"item,omitempty"` // of a list, or the value of a map
	Key      *member           `json:"key,omitempty"`
}

type member struct {
	Shape    string `json:"shape"`
	Name     string `json:"name,omitempty"`  // name on the wire
	Query    string `json:"query,omitempty"` // name on the wire in a request to EC2
	Location string `json:"location,omitempty"`
}

func readReduced(path string) (model, error) {
	var m model
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// reduce removes all operations except the given ones, and all shapes that no remaining operation uses.
func (m *model) reduce(operations []string) error {
	all, shapes := m.Operations, m.Shapes
	m.Operations, m.Shapes = map[string]operation{}, map[string]shape{}
	var keep func(name string)
	keep = func(name string) {
		s, ok := shapes[name]
		if _, done := m.Shapes[name]; done || !ok {
			return
		}
		m.Shapes[name] = s
		for _, x := range s.Members {
			keep(x.Shape)
		}
		for _, x := range []*member{s.Item, s.Key} {
			if x != nil {
				keep(x.Shape)
			}
		}
	}
	for _, name := range operations {
		op, ok := all[name]
		if !ok {
			return fmt.Errorf("the model has no operation %s", name)
		}
		m.Operations[name] = op
		keep(op.Input)
		keep(op.Output)
	}
	return nil
}

// encode returns the model as JSON with one operation or shape on each line, so that diffs are easy to read.
func (m *model) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"service\": %q, \"protocol\": %q,\n\"operations\": {", m.Service, m.Protocol)
	writeLines(&b, m.Operations)
	b.WriteString("\n},\n\"shapes\": {")
	writeLines(&b, m.Shapes)
	b.WriteString("\n}\n}\n")
	return b.Bytes()
}

func writeLines[V any](b *bytes.Buffer, all map[string]V) {
	comma := ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := &bytes.Buffer{}
		enc := json.NewEncoder(e)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(all[name]); err != nil {
			panic(err) // texts and numbers always marshal
		}
		fmt.Fprintf(b, "%s\n%q: %s", comma, name, bytes.TrimSpace(e.Bytes()))
		comma = ","
	}
}
