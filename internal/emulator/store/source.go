package store

// Source is the proof of an error's text. The generated page
// docs/emulator-operations.md lists the texts that are not proven; it reads the sources
// of this tree, so a source is always written out at the text.
type Source struct {
	// Kind is one of the kinds below.
	Kind string
	// Ref is the reference: a page, a shape of the model, a public report.
	Ref string
}

// Kinds of sources.
const (
	kindDocument  = "AWS document"
	kindModel     = "service model"
	kindQuotation = "quotation"
	kindUnproven  = "unproven"
	kindOwn       = "emulator"
)

var (
	// Unproven is a plausible text without a source.
	Unproven = Source{Kind: kindUnproven}
	// Own is an error of the emulator that AWS does not have.
	Own = Source{Kind: kindOwn}
)

// Document returns a text that AWS's documentation has.
func Document(ref string) Source { return Source{kindDocument, ref} }

// Model returns a text that the service model has.
func Model(ref string) Source { return Source{kindModel, ref} }

// Quoted returns a text of the real service that is quoted in a public report,
// such as "kasmtech/terraform#5".
func Quoted(ref string) Source { return Source{kindQuotation, ref} }
