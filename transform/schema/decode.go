// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"

	rkev1 "github.com/rancher/rancher/pkg/apis/rke.cattle.io/v1"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// fits stores a document in a value of its type, if it has no field that the type does
// not know and nothing that needs a rule of its own. For all others it returns false, and
// the JSON library of Kubernetes decides: this is the same result, without a text between.
func fits[T any](root yamledit.Node, v *T) bool {
	return root.Exists() && store(root.Tree(), reflect.ValueOf(v).Elem())
}

// store fills v, which is zero.
func store(t yamledit.Tree, v reflect.Value) bool {
	d := decoderOf(v.Type())
	switch {
	case d.untyped && t.IsMap():
		return storeUntyped(t, v)
	case d.json:
		return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(t.JSON()) == nil
	case d.text:
		text, is := t.Text()
		return is && v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
	case d.odd:
		return false
	case t.IsMap():
		return storeMap(t, v, d)
	case t.IsList():
		return storeList(t, v)
	}
	if text, is := t.Text(); is && v.Kind() == reflect.String {
		v.SetString(text)
		return true
	}
	return storeScalar(t, v)
}

func storeMap(t yamledit.Tree, v reflect.Value, d *decoder) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return storeNew(t, v)
	case reflect.Interface:
		return storeAny(t, v)
	case reflect.Struct:
		for key, value := range t.Entries {
			index, known := d.fields[key]
			if !known || !store(value, v.FieldByIndex(index)) {
				return false
			}
		}
		return true
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for key, value := range t.Entries {
			member := reflect.New(v.Type().Elem()).Elem()
			if !store(value, member) {
				return false
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), member)
		}
		return true
	}
	return false
}

func storeList(t yamledit.Tree, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return storeNew(t, v)
	case reflect.Interface:
		return storeAny(t, v)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), t.Len(), t.Len()))
		for i := range t.Len() {
			if !store(t.Item(i), v.Index(i)) {
				return false
			}
		}
		return true
	}
	return false
}

func storeNew(t yamledit.Tree, v reflect.Value) bool {
	v.Set(reflect.New(v.Type().Elem()))
	return store(t, v.Elem())
}

func storeScalar(t yamledit.Tree, v reflect.Value) bool {
	value := t.Value()
	switch {
	case value == nil:
		return true // v stays zero
	case v.Kind() == reflect.Pointer:
		return storeNew(t, v)
	case v.Kind() == reflect.Interface:
		return storeAny(t, v)
	}
	switch value := value.(type) {
	case string:
		if v.Kind() == reflect.String {
			v.SetString(value)
			return true
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(value)
			return true
		}
	case float64:
		return storeNumber(value, v)
	}
	return false
}

func storeNumber(f float64, v reflect.Value) bool {
	whole, is := wholeNumber(f)
	switch {
	case v.CanFloat() && !v.OverflowFloat(f):
		v.SetFloat(f)
	case is && v.CanInt() && !v.OverflowInt(whole):
		v.SetInt(whole)
	case is && v.CanUint() && whole >= 0 && !v.OverflowUint(uint64(whole)):
		v.SetUint(uint64(whole))
	default:
		return false
	}
	return true
}

// wholeNumber is a number that a float has exactly.
func wholeNumber(f float64) (int64, bool) {
	return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
}

// storeUntyped stores what Rancher passes on as it is.
func storeUntyped(t yamledit.Tree, v reflect.Value) bool {
	data, is := t.Value().(map[string]any)
	if !is || !finite(data) {
		return false
	}
	v.Addr().Interface().(*rkev1.GenericMap).Data = data
	return true
}

// finite reports whether all numbers in a value are some in JSON.
func finite(value any) bool {
	switch value := value.(type) {
	case float64:
		return !math.IsNaN(value) && !math.IsInf(value, 0)
	case []any:
		for _, member := range value {
			if !finite(member) {
				return false
			}
		}
	case map[string]any:
		for _, member := range value {
			if !finite(member) {
				return false
			}
		}
	}
	return true
}

// storeAny stores what has no type: numbers without a fraction are integers.
func storeAny(t yamledit.Tree, v reflect.Value) bool {
	value, ok := integers(t.Value())
	if ok && value != nil {
		v.Set(reflect.ValueOf(value))
	}
	return ok
}

func integers(value any) (_ any, ok bool) {
	switch value := value.(type) {
	case float64:
		if whole, is := wholeNumber(value); is {
			return whole, true
		}
		return value, !math.IsNaN(value) && math.Abs(value) < 1<<53
	case []any:
		for i, member := range value {
			if value[i], ok = integers(member); !ok {
				return nil, false
			}
		}
	case map[string]any:
		for key, member := range value {
			if value[key], ok = integers(member); !ok {
				return nil, false
			}
		}
	}
	return value, true
}

// decoder is how values of a type are stored.
type decoder struct {
	json, text bool // by a method of its own
	untyped    bool // a GenericMap, whose method reads any mapping through a text
	odd        bool // by the library
	fields     map[string][]int
}

var decoders sync.Map // by type

func decoderOf(t reflect.Type) *decoder {
	if d, known := decoders.Load(t); known {
		return d.(*decoder)
	}
	d, _ := decoders.LoadOrStore(t, newDecoder(t))
	return d.(*decoder)
}

func newDecoder(t reflect.Type) *decoder {
	d := &decoder{}
	switch own := reflect.PointerTo(t); {
	case t.Kind() == reflect.Pointer:
		d.odd = t.Name() != "" || t.Elem().Kind() == reflect.Pointer
		return d
	case own.Implements(reflect.TypeFor[json.Unmarshaler]()):
		d.json, d.untyped = true, t == reflect.TypeFor[rkev1.GenericMap]()
		return d
	case own.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.text = true
		return d
	}
	switch t.Kind() {
	case reflect.Struct:
		d.fields = map[string][]int{}
		d.odd = !addFields(d.fields, t, nil)
	case reflect.Map:
		key := t.Key()
		d.odd = key.Kind() != reflect.String || reflect.PointerTo(key).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	case reflect.Interface:
		d.odd = t.NumMethod() > 0
	case reflect.String:
		d.odd = t == reflect.TypeFor[json.Number]()
	case reflect.Slice:
		d.odd = t.Elem().Kind() == reflect.Uint8
	case reflect.Array, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		d.odd = true
	}
	return d
}

// addFields collects the fields of a struct by their names in JSON, those of structs that
// it embeds as well. It returns false where two have one name, or one has a rule that is
// not known here.
func addFields(fields map[string][]int, t reflect.Type, above []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(above[:len(above):len(above)], i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !addFields(fields, f.Type, index) {
				return false
			}
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		_, twice := fields[name]
		if twice || strings.Contains(options, "string") {
			return false
		}
		fields[name] = index
	}
	return true
}
