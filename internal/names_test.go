package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// declarations has the names that the packages of the repository declare, and the comments of the packages.
type declarations struct {
	// byPackage has the package-level names, fields and methods of a package. The key is the last element of its directory.
	// Packages with the same last element share an entry.
	byPackage map[string]map[string]bool
	// functionsAndTypes has the names of functions, methods and types, by directory.
	functionsAndTypes map[string]map[string]bool
	comments          []sourceComment
}

// sourceComment is a comment in a Go file. If it is a doc comment, names has the names that it documents.
type sourceComment struct {
	directory, position, text string
	names                     []string
}

// TestDocCommentsBeginWithTheirName checks that no doc comment begins with the name of another function or type of its
// package, as after an incomplete rename.
func TestDocCommentsBeginWithTheirName(t *testing.T) {
	d, err := readDeclarations()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range d.comments {
		if len(c.names) == 0 {
			continue
		}
		checked++
		first, _, _ := strings.Cut(c.text, " ")
		first = strings.TrimRight(first, ",:.\n")
		if isMixedCase(first) && !slices.Contains(c.names, first) && d.functionsAndTypes[c.directory][first] {
			t.Errorf("%s: the comment of %s begins with %s", c.position, c.names[0], first)
		}
	}
	if checked < 5000 {
		t.Errorf("only %d doc comments were found", checked)
	}
}

// TestNamesInCommentsAndPagesExist checks that each qualified name, such as plan.Memory, in a comment or in a page names a
// declaration of a package of the repository.
func TestNamesInCommentsAndPagesExist(t *testing.T) {
	d, err := readDeclarations()
	if err != nil {
		t.Fatal(err)
	}
	inComment := regexp.MustCompile(`(^|[\s(\[])([a-z][a-z0-9]+)\.([A-Z]\w*)((?:\.[A-Z]\w*)*)`)
	inPage := regexp.MustCompile("(`)([a-z][a-z0-9]+)\\.([A-Z]\\w*)((?:\\.[A-Z]\\w*)*)(?:\\([^`]*\\))?`")
	found := 0
	check := func(position, text string, pattern *regexp.Regexp) {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			names := d.byPackage[m[2]]
			if names == nil || m[2]+"."+m[3] == "controller.NewTypedUnmanaged" {
				continue // of a library, such as controller-runtime
			}
			found++
			for _, name := range strings.Split(m[3]+m[4], ".") {
				if !names[name] {
					t.Errorf("%s: %s.%s%s: package %s has no %s", position, m[2], m[3], m[4], m[2], name)
					break
				}
			}
		}
	}
	for _, c := range d.comments {
		check(c.position, c.text, inComment)
	}
	pages, err := filepath.Glob("../docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../*.md", "../docs/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		check(filepath.Base(page), string(text), inPage)
	}
	if found < 200 {
		t.Errorf("only %d qualified names were found", found)
	}
}

func isMixedCase(word string) bool {
	return len(word) > 1 && strings.ToLower(word[1:]) != word[1:] && token.IsIdentifier(word)
}

// readDeclarations returns the declarations of all Go files of the repository. It reads the files only at the first call.
var readDeclarations = sync.OnceValues(func() (declarations, error) {
	d := declarations{byPackage: map[string]map[string]bool{}, functionsAndTypes: map[string]map[string]bool{}}
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".git") || entry.Name() == "ecosystem") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasPrefix(entry.Name(), "zz_generated") {
			return nil
		}
		file, err := parser.ParseFile(fset, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		d.readFile(fset, filepath.Dir(p), file)
		return nil
	})
	return d, err
})

func (d *declarations) readFile(fset *token.FileSet, directory string, file *ast.File) {
	add := func(to map[string]map[string]bool, key, name string) {
		if to[key] == nil {
			to[key] = map[string]bool{}
		}
		to[key][name] = true
	}
	docs := map[*ast.CommentGroup][]string{}
	declare := func(doc *ast.CommentGroup, isFunctionOrType bool, names ...*ast.Ident) {
		for _, n := range names {
			add(d.byPackage, filepath.Base(directory), n.Name)
			if isFunctionOrType {
				add(d.functionsAndTypes, directory, n.Name)
			}
			if doc != nil {
				docs[doc] = append(docs[doc], n.Name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			declare(n.Doc, true, n.Name)
			return false
		case *ast.GenDecl:
			for _, s := range n.Specs {
				doc := n.Doc
				if n.Lparen.IsValid() {
					doc = nil
				}
				switch s := s.(type) {
				case *ast.TypeSpec:
					if doc == nil {
						doc = s.Doc
					}
					declare(doc, true, s.Name)
				case *ast.ValueSpec:
					if doc == nil {
						doc = s.Doc
					}
					declare(doc, false, s.Names...)
				}
			}
		case *ast.Field:
			declare(n.Doc, false, n.Names...)
			if len(n.Names) == 0 { // an embedded type
				ast.Inspect(n.Type, func(in ast.Node) bool {
					if id, ok := in.(*ast.Ident); ok {
						add(d.byPackage, filepath.Base(directory), id.Name)
					}
					return true
				})
			}
		}
		return true
	})
	for _, g := range file.Comments {
		d.comments = append(d.comments, sourceComment{
			directory: directory, position: fset.Position(g.Pos()).String(), text: strings.TrimSpace(g.Text()), names: docs[g],
		})
	}
}
