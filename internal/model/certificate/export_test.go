package certificate

// Parsed returns how often the reader has not remembered what it was asked for.
func (r *Reader) Parsed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parsed
}

// Remembered returns what a reader remembers of certificates.
func (r *Reader) Remembered() (bytes int, keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, generation := range []map[version]outcome{r.recent, r.older} {
		for _, o := range generation {
			bytes += o.size()
			if o.public.Key != "" {
				keys = append(keys, o.public.Key.Reveal())
			}
		}
	}
	return bytes, keys
}
