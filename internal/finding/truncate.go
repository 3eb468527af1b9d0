package finding

// TruncateValue shortens a value of a user to at most 80 characters, for use in a message.
func TruncateValue(s string) string { return Truncate(s, 80) }

// Truncate shortens a text to at most limit characters. A shortened text ends with "...". limit must be at least 3.
func Truncate(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-3]) + "..."
	}
	return text
}
