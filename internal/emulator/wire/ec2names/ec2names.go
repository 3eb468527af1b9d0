// Package ec2names has the names of EC2's members in requests and responses that differ from their names in Go. The
// table is generated from the SDK's serializers; run go generate after an upgrade of the SDK.
package ec2names

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:generate go run ./gen

//go:embed names.txt
var text string

// key is a member of a type in one direction.
type key struct {
	direction   string
	typ, member string
}

var table = sync.OnceValue(func() map[key]string {
	m := map[key]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 4 {
			m[key{f[0], f[1], f[2]}] = f[3]
		}
	}
	return m
})

// Request returns the name of a member in a request.
func Request(typ, member string) string {
	if name, ok := table()[key{"request", typ, member}]; ok {
		return name
	}
	return member
}

// Response returns the name of a member in a response.
func Response(typ, member string) string {
	if name, ok := table()[key{"response", typ, member}]; ok {
		return name
	}
	return lowerFirst(member)
}

func lowerFirst(s string) string {
	r := []rune(s)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

var (
	serializeFunc   = regexp.MustCompile(`^func awsEc2query_serialize(?:Op)?Document\w+\(v \*(?:types\.)?(\w+), `)
	deserializeFunc = regexp.MustCompile(`^func awsEc2query_deserialize(?:Op)?Document\w+\(v \*\*(?:types\.)?(\w+), `)
	requestMember   = regexp.MustCompile(`if (?:len\()?v\.(\w+)\)? `)
	requestName     = regexp.MustCompile(`object\.(?:Flat)?Key\("([^"]+)"\)`)
	responseName    = regexp.MustCompile(`EqualFold\("([^"]+)", t\.Name\.Local`)
	responseMember  = regexp.MustCompile(`\bsv\.(\w+)\b`)
)

// Extract reads the SDK's serializers.go and deserializers.go and returns the
// table of names that differ from the defaults of Request and Response.
func Extract(serializers, deserializers io.Reader) (string, error) {
	var lines []string
	var typ, member, name string
	err := eachLine(serializers, func(line string) {
		if m := serializeFunc.FindStringSubmatch(line); m != nil {
			typ, member = m[1], ""
			return
		}
		if strings.HasPrefix(line, "func ") {
			typ = ""
		}
		if m := requestMember.FindStringSubmatch(line); m != nil {
			member = m[1]
		}
		m := requestName.FindStringSubmatch(line)
		if m != nil && typ != "" && member != "" && m[1] != member {
			lines = append(lines, fmt.Sprintf("request %s %s %s", typ, member, m[1]))
		}
	})
	if err != nil {
		return "", err
	}
	typ = ""
	err = eachLine(deserializers, func(line string) {
		if m := deserializeFunc.FindStringSubmatch(line); m != nil {
			typ, name = m[1], ""
			return
		}
		if strings.HasPrefix(line, "func ") {
			typ = ""
		}
		if m := responseName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		m := responseMember.FindStringSubmatch(line)
		if m != nil && typ != "" && name != "" {
			if name != lowerFirst(m[1]) {
				lines = append(lines, fmt.Sprintf("response %s %s %s", typ, m[1], name))
			}
			name = ""
		}
	})
	if err != nil {
		return "", err
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n", nil
}

func eachLine(r io.Reader, f func(string)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f(s.Text())
	}
	return s.Err()
}
