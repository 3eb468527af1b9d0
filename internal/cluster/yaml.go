package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/clock"
	syaml "sigs.k8s.io/yaml"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
)

// LoadedObjects are the objects of a YAML or JSON stream.
type LoadedObjects struct {
	Objects []Object
	// Skipped has the documents of kinds that the controller does not read, as "apiVersion Kind name".
	Skipped []string
}

// strictDecoder is created once, because its creation takes longer than decoding a document.
var strictDecoder = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme, err := sharedScheme()
	if err != nil {
		return nil, err
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), nil
})

// LoadYAML reads the objects of a YAML or JSON stream, which may have several documents and lists of objects. Unknown and
// repeated fields are errors, except in kinds that are skipped. Namespaced objects without a namespace get the namespace
// "default". LoadYAML sets the API server defaults on which the controller depends.
func LoadYAML(data []byte) (LoadedObjects, error) {
	decode, err := strictDecoder()
	if err != nil {
		return LoadedObjects{}, err
	}
	var out LoadedObjects
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			err = out.addDocument(decode, doc)
		}
		if err != nil {
			return LoadedObjects{}, fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// addDocument decodes a document, and adds its objects to Objects, or its name to Skipped.
func (l *LoadedObjects) addDocument(decode runtime.Decoder, doc []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Items []map[string]any `json:"items"`
	}
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil
	}
	raw, err := syaml.YAMLToJSON(doc)
	if err != nil {
		return fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("%s is of type %s, which is not allowed there; write it in quotes if it should be a string", wrong.Field, wrong.Value)
		}
		return errors.New("not a Kubernetes object; it needs apiVersion, kind and metadata")
	}
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil // the document contains only comments
	}
	if head.Kind == "" || head.APIVersion == "" {
		return errors.New("not a Kubernetes object; it needs apiVersion, kind and metadata")
	}
	if itemKind, isList := strings.CutSuffix(head.Kind, "List"); isList && head.Metadata.Name == "" {
		for i, item := range head.Items {
			// In a list of one kind, the API server omits apiVersion and kind of the objects.
			if _, has := item["kind"]; !has && itemKind != "" && item != nil {
				item["apiVersion"], item["kind"] = head.APIVersion, itemKind
			}
			raw, err := syaml.Marshal(item)
			if err == nil {
				err = l.addDocument(decode, raw)
			}
			if err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
		}
		return nil
	}
	typ, ok := TypeOf(Kind(head.Kind))
	if gv, k := typ.GVK.ToAPIVersionAndKind(); !ok || gv != head.APIVersion || k != head.Kind {
		l.Skipped = append(l.Skipped, fmt.Sprintf("%s %s %s", head.APIVersion, head.Kind, head.Metadata.Name))
		return nil
	}
	obj, _, err := decode.Decode(doc, nil, nil)
	if err != nil {
		return err
	}
	o, ok := obj.(Object)
	if !ok {
		return fmt.Errorf("%s has no metadata", head.Kind)
	}
	if o.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is not set; set it, even if the object has metadata.generateName", head.Kind)
	}
	if typ.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	fillDefaults(o)
	l.Objects = append(l.Objects, o)
	return nil
}

// fillDefaults sets the API server defaults on which the controller depends.
func fillDefaults(obj Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		if o.Spec.Type == "" {
			o.Spec.Type = corev1.ServiceTypeClusterIP
		}
		for i := range o.Spec.Ports {
			p := &o.Spec.Ports[i]
			if p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP
			}
			if p.TargetPort == (intstr.IntOrString{}) {
				p.TargetPort = intstr.FromInt32(p.Port)
			}
		}
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
	case *corev1.Secret:
		for k, v := range o.StringData {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[k] = []byte(v)
		}
		o.StringData = nil
	case *aga.GlobalAccelerator:
		fillAcceleratorDefaults(&o.Spec)
	default:
		fillGatewayDefaults(obj)
	}
}

// MemoryFromYAML returns a store with the objects of YAML streams. clock is passed to NewMemory.
func MemoryFromYAML(clock clock.PassiveClock, streams ...[]byte) (*Memory, error) {
	m, err := NewMemory(clock)
	if err != nil {
		return nil, err
	}
	for _, data := range streams {
		l, err := LoadYAML(data)
		if err != nil {
			return nil, err
		}
		if err := m.Put(l.Objects...); err != nil {
			return nil, err
		}
	}
	return m, nil
}
