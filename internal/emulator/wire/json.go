package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// JSON returns the codec of the protocol awsJson1_1.
func JSON() Codec { return jsonCodec{} }

type jsonCodec struct{}

const jsonContentType = "application/x-amz-json-1.1"

func (jsonCodec) Decode(r Request, in any) error {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		return nil
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return store.Errorf(store.UnprovenSource, "SerializationException", "The request body is not JSON: %v", err)
	}
	if err := decodeJSON(tree, reflect.ValueOf(in).Elem(), ""); err != nil {
		return err
	}
	return nil
}

func (jsonCodec) Encode(_ string, out any, requestID string) (Response, error) {
	tree, err := encodeJSON(reflect.ValueOf(out).Elem())
	if err != nil {
		return Response{}, err
	}
	body, err := json.Marshal(tree)
	if err != nil {
		return Response{}, err
	}
	return newResponse(200, jsonContentType, requestID, body), nil
}

func (jsonCodec) EncodeError(err *store.Error, requestID string) Response {
	body, _ := json.Marshal(map[string]string{"__type": err.Code, "message": err.Message})
	r := newResponse(err.HTTPStatus(), jsonContentType, requestID, body)
	r.Header.Set("X-Amzn-Errortype", err.Code)
	return r
}

// decodeJSON sets v to the value of tree, which is parsed JSON. It ignores null.
func decodeJSON(tree any, v reflect.Value, path string) *store.Error {
	if tree == nil {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if err := decodeJSON(tree, p.Elem(), path); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		n, ok := tree.(json.Number)
		if !ok {
			return malformedParameterError(path, scalarText(tree), "a timestamp")
		}
		seconds, err := n.Float64()
		if err != nil {
			return malformedParameterError(path, n.String(), "a timestamp")
		}
		whole, part := math.Modf(seconds)
		v.Set(reflect.ValueOf(time.Unix(int64(whole), int64(math.Round(part*1e3))*1e6).UTC()))
		return nil
	}
	switch tree := tree.(type) {
	case map[string]any:
		return decodeObject(tree, v, path)
	case []any:
		return decodeArray(tree, v, path)
	case string:
		if v.Type() == reflect.TypeFor[[]byte]() {
			b, err := base64.StdEncoding.DecodeString(tree)
			if err != nil {
				return malformedParameterError(path, tree, "base64")
			}
			v.SetBytes(b)
			return nil
		}
		if v.Kind() == reflect.String {
			v.SetString(tree)
			return nil
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(tree)
			return nil
		}
	case json.Number:
		if v.CanInt() || v.CanFloat() {
			return decodeScalar(tree.String(), v, path)
		}
	}
	return malformedParameterError(path, scalarText(tree), "a "+v.Type().String())
}

func decodeObject(tree map[string]any, v reflect.Value, path string) *store.Error {
	switch v.Kind() {
	case reflect.Struct:
		for _, name := range store.SortedKeys(tree) {
			// Some members of ACM begin with a lower-case letter. The comparison therefore ignores case.
			f, ok := v.Type().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
			if !ok || !f.IsExported() || isSDKField(f) {
				return unknownParameterError(path + name)
			}
			if err := decodeJSON(tree[name], v.FieldByIndex(f.Index), path+name+"."); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range store.SortedKeys(tree) {
			item := reflect.New(v.Type().Elem()).Elem()
			if err := decodeJSON(tree[name], item, path+name+"."); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), item)
		}
		return nil
	case reflect.Interface:
		return store.Errorf(store.EmulatorSource, CodeUnsupportedParameter, "the parameter %s is of a type that this emulator cannot read", strings.TrimSuffix(path, "."))
	}
	return malformedParameterError(path, "{…}", "a "+v.Type().String())
}

func decodeArray(tree []any, v reflect.Value, path string) *store.Error {
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() == reflect.Uint8 {
		return malformedParameterError(path, "[…]", "a "+v.Type().String())
	}
	v.Set(reflect.MakeSlice(v.Type(), len(tree), len(tree)))
	for i, item := range tree {
		if err := decodeJSON(item, v.Index(i), path+strconv.Itoa(i+1)+"."); err != nil {
			return err
		}
	}
	return nil
}

func scalarText(tree any) string {
	b, _ := json.Marshal(tree) // cannot fail, because tree was parsed from JSON
	return string(b)
}

// encodeJSON converts an SDK structure to a value whose JSON has the format of AWS: absent members are omitted, and times
// are in seconds. It returns nil for a nil pointer.
func encodeJSON(v reflect.Value) (any, error) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		t := v.Interface().(time.Time)
		return json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', -1, 64)), nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return encodeJSON(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for _, m := range goNames.describeStruct(v.Type()).members {
			if isAbsent(v.Field(m.fieldIndex)) {
				continue
			}
			item, err := encodeJSON(v.Field(m.fieldIndex))
			if err != nil {
				return nil, err
			}
			out[m.name] = item
		}
		return out, nil
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			return b, nil // encoding/json writes base64
		}
		out := []any{}
		for i := range v.Len() {
			item, err := encodeJSON(v.Index(i))
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return out, nil
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			item, err := encodeJSON(v.MapIndex(k))
			if err != nil {
				return nil, err
			}
			out[k.String()] = item
		}
		return out, nil
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return v.Interface(), nil
	}
	return nil, unsupportedTypeError(v.Interface())
}

// isAbsent reports whether a member has no value. Numbers and booleans that are not pointers always have a value, because
// AWS always sends them.
func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.String() == ""
	}
	return false
}
