package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is the program for one platform.
type program struct {
	platform v1.Platform
	binary   []byte
	sbom     []byte // CycloneDX, JSON
}

// versionPackage is the path of the package whose variables buildProgram sets to the version, the commit and its date.
const versionPackage = "github.com/fulcrum-lb/fulcrum/internal/version"

// buildProgram compiles the program for platform p to file out. The file does not depend on the path of the source, or on
// the state of its git repository.
func buildProgram(ctx context.Context, s settings, p v1.Platform, out string) error {
	ldflags := fmt.Sprintf("-s -w -buildid= -X %[1]s.gitVersion=%[2]s -X %[1]s.gitCommit=%[3]s -X %[1]s.buildDate=%[4]s",
		versionPackage, s.release.version, s.release.commit, s.release.date.Format(time.RFC3339))
	path, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, s.program)
	cmd.Dir = s.source
	// These variables override settings in the environment that would change the binary.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Architecture, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", p, err, output)
	}
	return nil
}

// readProgram reads the program in a file, and creates its SBOM from the list of modules that the Go linker has stored in
// the program.
func readProgram(p v1.Platform, file string, r release) (program, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return program{}, fmt.Errorf("list the modules of the program for %s: %w", p, err)
	}
	sum := sha256.Sum256(binary)
	main := newComponent(cdx.ComponentTypeApplication, info.Main.Path, r.version)
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	parts := []cdx.Component{newComponent(cdx.ComponentTypeLibrary, "std", info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, newComponent(cdx.ComponentTypeLibrary, m.Path, m.Version))
	}
	slices.SortFunc(parts, func(a, b cdx.Component) int { return bytes.Compare([]byte(a.PackageURL), []byte(b.PackageURL)) })

	bom := cdx.NewBOM()
	bom.SerialNumber = "" // NewBOM sets a random number, but the SBOM must be reproducible
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &main}
	bom.Components = &parts
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return program{}, err
	}
	return program{platform: p, binary: binary, sbom: text.Bytes()}, nil
}

func newComponent(t cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: url, Type: t, Name: path, Version: version, PackageURL: url}
}
