package certificate

// Parsed returns how often the reader has parsed a Secret version that was not in its cache.
func (r *Reader) Parsed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parsed
}

// CacheContents returns the size of the cache and the private keys in it.
func (r *Reader) CacheContents() (bytes int, keys []string) {
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
