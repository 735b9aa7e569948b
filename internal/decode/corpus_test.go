package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/countd/countd/pkg/counts"
)

// corpusTime is when the objects of the corpus are looked at: their timestamps lie before it.
var corpusTime = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// example is an object of the corpus with what is to be said of it. What countd says is
// written by hand, from what the states mean, never taken from the code.
type example struct {
	Case   string         `json:"case"`
	Own    said           `json:"own"`
	Steve  said           `json:"steve"`
	Later  []later        `json:"later"`
	Object map[string]any `json:"object"`

	text []byte // the object in JSON
}

// later is what is said of an object some time after corpusTime, without an event. A
// reading that is missing is as it was.
type later struct {
	After duration `json:"after"`
	Own   *said    `json:"own"`
	Steve *said    `json:"steve"`
}

// said is a state: its word, or "-" for none, then its flags.
type said counts.State

func (s *said) UnmarshalText(text []byte) error {
	word, flags, _ := strings.Cut(string(text), ", ")
	*s = said{Word: strings.TrimPrefix(word, "-")}
	if flags == "" {
		return nil
	}
	for flag := range strings.SplitSeq(flags, ", ") {
		switch flag {
		case "error":
			s.Error = true
		case "in progress":
			s.Transitioning = true
		default:
			return fmt.Errorf("a state has no flag %q", flag)
		}
	}
	return nil
}

type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}

// corpus returns the examples by file.
func corpus(t testing.TB) map[string][]example {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "states", "*.yaml"))
	must(t, err)
	files := make(map[string][]example)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		files[name], err = examples(content)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if len(files) == 0 {
		t.Fatal("the corpus is empty")
	}
	return files
}

// examples reads a file of the corpus.
func examples(content []byte) (all []example, err error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var e example
		if err := yaml.UnmarshalStrict(document, &e); err != nil {
			return nil, fmt.Errorf("after %d documents: %w", len(all), err)
		}
		if e.text, err = json.Marshal(e.Object); err != nil {
			return nil, err
		}
		whole := new(unstructured.Unstructured) // with numbers as client-go has them
		if err := whole.UnmarshalJSON(e.text); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Case, err)
		}
		e.Object = whole.Object
		all = append(all, e)
	}
}

// builtIn is a scheme of our own (R3) with the kinds that API servers have.
func builtIn(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionv1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, flowcontrolv1.AddToScheme, nodev1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme,
	} {
		must(t, add(scheme))
	}
	return scheme
}

// typedObject returns an object of a built-in kind in its Go type; nil for other kinds. In strict
// reading every field has to be one of the type's.
func typedObject(scheme *runtime.Scheme, content map[string]any, text []byte, strict bool) (runtime.Object, error) {
	gvk := (&unstructured.Unstructured{Object: content}).GroupVersionKind()
	if !scheme.Recognizes(gvk) {
		return nil, nil //nolint:nilnil // there is none, and that is no fault
	}
	object, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if strict {
		decoder.DisallowUnknownFields()
	}
	return object, decoder.Decode(object)
}
