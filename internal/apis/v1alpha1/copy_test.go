// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The copies are generated. One that is older than its type shares what was added.
func TestACopyIsEqualAndSharesNothing(t *testing.T) {
	for _, o := range []runtime.Object{&LeaderMigration{}, &LeaderMigrationList{}, &LeaderMigrationApproval{}, &LeaderMigrationApprovalList{}} {
		fill(reflect.ValueOf(o).Elem())
		c := o.DeepCopyObject()
		if !reflect.DeepEqual(o, c) {
			t.Errorf("%T: the copy is another object", o)
		}
		shares(t, reflect.TypeOf(o).Elem().Name(), reflect.ValueOf(o).Elem(), reflect.ValueOf(c).Elem())
	}
}

// fill sets every pointer, list and map of the types here.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), one)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[metav1.ObjectMeta]() && v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}

func shares(t *testing.T, name string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if !a.IsNil() && a.UnsafePointer() == b.UnsafePointer() {
			t.Errorf("the copy shares %s; run make generate", name)
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			shares(t, name, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := range a.Len() {
			shares(t, name, a.Index(i), b.Index(i))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			shares(t, name+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	}
}
