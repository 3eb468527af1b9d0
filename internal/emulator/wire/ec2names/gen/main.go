// Command gen extracts the table of EC2 member names from the source of the SDK, and writes it to names.txt.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire/ec2names"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/ec2").Output()
	if err != nil {
		return fmt.Errorf("find the SDK: %w", err)
	}
	dir := strings.TrimSpace(string(out))
	s, err := os.Open(filepath.Join(dir, "serializers.go"))
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := os.Open(filepath.Join(dir, "deserializers.go"))
	if err != nil {
		return err
	}
	defer d.Close()
	text, err := ec2names.Extract(s, d)
	if err != nil {
		return err
	}
	return os.WriteFile("names.txt", []byte(text), 0o644)
}
