package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decode reads exactly one JSON value. Object keys match without regard to case and unknown keys
// are ignored, as users of these annotations are used to.
func decode(raw string, into any) error {
	d := json.NewDecoder(strings.NewReader(raw))
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("not the expected JSON: %s must not be a %s", wrong.Field, wrong.Value)
		}
		return errors.New("not the expected JSON: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("not the expected JSON: text follows the value")
	}
	return nil
}
