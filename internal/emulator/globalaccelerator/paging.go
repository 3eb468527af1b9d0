package globalaccelerator

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	defaultPageSize = 10
	maxPageSize     = 100
)

// page returns one page of items, and the token of the next page, nil for the last page. listID identifies the list in
// tokens. key returns the identifier of an item. Pages are in the order of the keys: an item that is created or deleted
// between two calls does not cause other items to be repeated or omitted. Within a page the order is random.
func page[T any](w *store.Store, listID string, items []T, key func(T) string, size *int32, token *string) ([]T, *string, error) {
	if err := firstError(checkRange("MaxResults", size, 1, maxPageSize), checkShortText("NextToken", token)); err != nil {
		return nil, nil, err
	}
	after := ""
	if token != nil {
		var ok bool
		if after, ok = readToken(listID, *token); !ok {
			return nil, nil, store.Errorf(store.UnprovenSource, "InvalidNextTokenException", "The token '%s' is not valid", *token)
		}
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it T) bool { return key(it) <= after })
	slices.SortFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	asked := int(store.Value(size))
	if asked == 0 {
		asked = defaultPageSize
	}
	limit := w.PageLimit(asked, maxPageSize)
	if len(items) <= limit {
		return store.Shuffle(w, items), nil, nil
	}
	next := newToken(listID, key(items[limit-1]))
	return store.Shuffle(w, items[:limit]), &next, nil
}

// lastARNPart returns the last part of an ARN, which identifies a resource within its parent. Whole ARNs would be too long
// for a token.
func lastARNPart(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

func newToken(listID, last string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%016x %s", tokenChecksum(listID, last), last))
}

func readToken(listID, token string) (after string, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	sum, last, ok := strings.Cut(string(text), " ")
	return last, ok && sum == fmt.Sprintf("%016x", tokenChecksum(listID, last))
}

func tokenChecksum(listID, last string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(listID + "\n" + last)) // writes to a hash never fail
	return h.Sum64()
}
