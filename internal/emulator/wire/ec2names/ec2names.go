// Package ec2names has the names of EC2 members in requests and responses, where they differ from the default names. The
// table is generated from the serializers of the SDK. Run go generate after an upgrade of the SDK.
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
var namesText string

// memberKey identifies a member of an SDK type in requests or in responses (direction).
type memberKey struct {
	direction   string
	typ, member string
}

var nameTable = sync.OnceValue(func() map[memberKey]string {
	m := map[memberKey]string{}
	for line := range strings.Lines(namesText) {
		f := strings.Fields(line)
		if len(f) == 4 {
			m[memberKey{f[0], f[1], f[2]}] = f[3]
		}
	}
	return m
})

// RequestName returns the name of a member in requests. typ is the Go name of the structure. The default is the Go name.
func RequestName(typ, member string) string {
	if name, ok := nameTable()[memberKey{"request", typ, member}]; ok {
		return name
	}
	return member
}

// ResponseName returns the name of a member in responses. typ is the Go name of the structure. The default is the Go name
// with a lower-case first letter.
func ResponseName(typ, member string) string {
	if name, ok := nameTable()[memberKey{"response", typ, member}]; ok {
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
	serializeFuncPattern   = regexp.MustCompile(`^func awsEc2query_serialize(?:Op)?Document\w+\(v \*(?:types\.)?(\w+), `)
	deserializeFuncPattern = regexp.MustCompile(`^func awsEc2query_deserialize(?:Op)?Document\w+\(v \*\*(?:types\.)?(\w+), `)
	requestMemberPattern   = regexp.MustCompile(`if (?:len\()?v\.(\w+)\)? `)
	requestNamePattern     = regexp.MustCompile(`object\.(?:Flat)?Key\("([^"]+)"\)`)
	responseNamePattern    = regexp.MustCompile(`EqualFold\("([^"]+)", t\.Name\.Local`)
	responseMemberPattern  = regexp.MustCompile(`\bsv\.(\w+)\b`)
)

// Extract reads the SDK's serializers.go and deserializers.go. It returns the table of the names that differ from the
// default names of Request and Response.
func Extract(serializers, deserializers io.Reader) (string, error) {
	var lines []string
	var typ, member, name string
	err := eachLine(serializers, func(line string) {
		if m := serializeFuncPattern.FindStringSubmatch(line); m != nil {
			typ, member = m[1], ""
			return
		}
		if strings.HasPrefix(line, "func ") {
			typ = ""
		}
		if m := requestMemberPattern.FindStringSubmatch(line); m != nil {
			member = m[1]
		}
		m := requestNamePattern.FindStringSubmatch(line)
		if m != nil && typ != "" && member != "" && m[1] != member {
			lines = append(lines, fmt.Sprintf("request %s %s %s", typ, member, m[1]))
		}
	})
	if err != nil {
		return "", err
	}
	typ = ""
	err = eachLine(deserializers, func(line string) {
		if m := deserializeFuncPattern.FindStringSubmatch(line); m != nil {
			typ, name = m[1], ""
			return
		}
		if strings.HasPrefix(line, "func ") {
			typ = ""
		}
		if m := responseNamePattern.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		m := responseMemberPattern.FindStringSubmatch(line)
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
