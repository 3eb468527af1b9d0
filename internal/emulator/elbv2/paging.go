package elbv2

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxPageSize is the maximum number of items on a page, and the number if a request does not set PageSize.
const maxPageSize = 400

// Values of the parameter inOrder of page. An unordered list gets a random order, because AWS does not document the order.
// All pages of one listing have the same random order, or are sorted by key if random orders are turned off. An ordered list
// keeps its order, which must be that of its keys.
const (
	unordered = false
	ordered   = true
)

// page returns one page of a list, and the marker of the next page, which is nil after the last page. key returns the
// identifier of an item. A marker contains the seed of the random order and the last key of its page, so no item is repeated
// or skipped if items are created or deleted between two calls.
func page[T any](w *store.Store, items []T, key func(T) string, inOrder bool, marker *string, size *int32) ([]T, *string, error) {
	var sh validation
	sh.checkRange("pageSize", size, 1, maxPageSize)
	if err := sh.err(); err != nil {
		return nil, nil, err
	}
	salt, after := uint64(0), ""
	if !inOrder && w.Config.Shuffle {
		salt = w.Rand.Uint64() | 1
	}
	if marker != nil {
		var err error
		if salt, after, err = parseMarker(*marker); err != nil {
			return nil, nil, err
		}
	}
	items = slices.Clone(items)
	limit := w.PageLimit(int(store.Value(size)), maxPageSize)
	if salt != 0 || !inOrder && (marker != nil || len(items) > limit) {
		rank := map[string]uint64{}
		if salt != 0 {
			for _, it := range items {
				rank[key(it)] = hashKey(salt, key(it))
			}
		}
		slices.SortFunc(items, func(a, b T) int {
			ka, kb := key(a), key(b)
			return cmp.Or(cmp.Compare(rank[ka], rank[kb]), strings.Compare(ka, kb))
		})
	}
	if marker != nil {
		items = items[positionAfter(items, key, salt, after):]
	}
	if len(items) <= limit {
		return items, nil, nil
	}
	items = items[:limit]
	next := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x|%s", salt, key(items[limit-1])))
	return items, &next, nil
}

// positionAfter returns the index of the first item after the item with the key "after". The item with the key "after"
// may have been deleted.
func positionAfter[T any](items []T, key func(T) string, salt uint64, after string) int {
	for i, it := range items {
		if key(it) == after {
			return i + 1
		}
	}
	if salt != 0 {
		for i, it := range items {
			if hashKey(salt, key(it)) > hashKey(salt, after) {
				return i
			}
		}
		return len(items)
	}
	for i, it := range items {
		if key(it) > after {
			return i
		}
	}
	return len(items)
}

func parseMarker(marker string) (salt uint64, after string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(marker)
	if err == nil {
		head, tail, ok := strings.Cut(string(raw), "|")
		if salt, err = strconv.ParseUint(head, 16, 64); ok && err == nil {
			return salt, tail, nil
		}
	}
	return 0, "", validationError(store.UnprovenSource, "'%s' is not a valid marker", marker)
}

func hashKey(salt uint64, key string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%x|%s", salt, key)
	return h.Sum64()
}
