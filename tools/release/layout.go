package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// userID is the user ID of the program. It is numeric because the chart sets runAsNonRoot.
	userID = 65532

	sbomPath   = "usr/share/sbom/fulcrum.cdx.json"
	license    = "Apache-2.0"
	imageTitle = "Fulcrum"
)

// writeImage writes the SBOMs and an OCI image layout to folder out. The layout contains one multi-platform image with all
// programs. writeImage returns the digest of this image.
func writeImage(out string, r release, programs []program) (v1.Hash, error) {
	base, err := newLayer(baseFiles(), r.date)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		img, err := newImage(base, r, p)
		if err != nil {
			return v1.Hash{}, err
		}
		platform := p.platform
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index = mutate.Annotations(index, imageLabels(r)).(v1.ImageIndex)

	if err := os.MkdirAll(out, 0o755); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(filepath.Join(out, "image"), empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index); err != nil {
		return v1.Hash{}, err
	}
	for _, p := range programs {
		name := fmt.Sprintf("sbom-%s-%s.cdx.json", p.platform.OS, p.platform.Architecture)
		if err := os.WriteFile(filepath.Join(out, name), p.sbom, 0o644); err != nil {
			return v1.Hash{}, err
		}
	}
	return index.Digest()
}

func newImage(base v1.Layer, r release, p program) (v1.Image, error) {
	own, err := newLayer([]file{
		{name: "fulcrum", mode: 0o755, content: p.binary},
		{name: "usr/share/sbom/", mode: 0o755},
		{name: sbomPath, mode: 0o644, content: p.sbom},
	}, r.date)
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: base, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "certificates and accounts"}},
		mutate.Addendum{Layer: own, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "go build"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.platform.OS, p.platform.Architecture, p.platform.Variant
	config.Created = v1.Time{Time: r.date}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", userID, userID),
		Entrypoint: []string{"/fulcrum"},
		WorkingDir: "/",
		Env:        []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels:     imageLabels(r),
	}
	return mutate.ConfigFile(img, config)
}

// imageLabels returns the labels of the image. The keys are defined in the OCI image specification (annotations.md).
func imageLabels(r release) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    imageTitle,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses": license,
		"org.opencontainers.image.source":   "https://github.com/fulcrum-lb/fulcrum",
	}
}

// file is an entry of an image layer or an archive. If its name ends with a slash, it is a folder.
type file struct {
	name    string
	mode    int64
	content []byte
}

// baseFiles returns the system files of the image: users, certificates and an empty folder tmp. There is no shell and no
// package manager.
func baseFiles() []file {
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", userID)},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:/:/sbin/nologin\n", userID)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: trustedRoots()},
		// The chart mounts the certificate of the webhooks below this folder.
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
	}
}

// trustedRoots returns the certificates of the CAs that Mozilla trusts without constraints, as PEM. It omits CAs with
// constraints, because a file of certificates cannot contain constraints.
func trustedRoots() []byte {
	var out []byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return out
}

func newLayer(files []file, at time.Time) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}
