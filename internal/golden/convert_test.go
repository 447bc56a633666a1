// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConvert packs the folders of old, unpacks the archives that this makes, and
// compares every file with the old one, byte for byte.
func TestConvert(t *testing.T) {
	old, err := filepath.Abs("../../cmd/rke-lm/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(old, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	cases, bytes := map[string]Case{}, 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if cases[name].Files == nil {
			cases[name] = Case{name, map[string]string{}}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases[name].Files[filepath.Base(file)] = string(text)
		bytes += len(text)
	}
	if err := os.MkdirAll(top, 0o755); err != nil {
		t.Fatal(err)
	}
	var list []Case
	for _, c := range cases {
		list = append(list, c)
	}
	if err := write(top, list); err != nil {
		t.Fatal(err)
	}
	texts, err := readTexts(top)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readAll(top, func(packed []byte) (map[string]string, error) { return unpack(packed, texts) })
	if err != nil {
		t.Fatal(err)
	}
	same, more := 0, 0
	for _, c := range again {
		for name, text := range c.Files {
			is, err := os.ReadFile(filepath.Join(old, c.Name, name))
			if err != nil || string(is) != text {
				t.Errorf("%s/%s is another one: %v", c.Name, name, err)
				more++
				continue
			}
			same++
		}
	}
	t.Logf("%d files with %d bytes in %d cases; unpacked from %d archives: %d of %d are the same, %d are not", len(files), bytes, len(cases), len(again), same, len(files), more)
	if same != len(files) || more > 0 {
		t.Error("not all are the same")
	}
}
