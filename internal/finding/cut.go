package finding

// Cut shortens a value of a user to 80 characters, for a message.
func Cut(s string) string { return CutTo(80, s) }

// CutTo shortens a text to a number of characters, with "..." at the end if something is left out.
func CutTo(most int, s string) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}
