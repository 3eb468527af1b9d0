package certificate

// ParseCount returns how often r has parsed a Secret because the result was not in its cache.
func (r *Reader) ParseCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parseCount
}

// CacheContents returns the size of the cache, and the private keys in it. There must be no private keys.
func (r *Reader) CacheContents() (bytes int, keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, generation := range []map[secretHash]parseResult{r.recentResults, r.olderResults} {
		for _, o := range generation {
			bytes += o.size()
			if o.contentWithoutKey.Key != "" {
				keys = append(keys, o.contentWithoutKey.Key.Reveal())
			}
		}
	}
	return bytes, keys
}
