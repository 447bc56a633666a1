// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
)

// Read returns the plans in a folder: that of a cluster, or the one above, which
// was named when they were written.
func Read(folder string) ([]plan.Saved, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("%s: no such plan folder; use one from plan --out", folder)
	}
	folders := []string{folder}
	if _, err := os.Stat(filepath.Join(folder, PlanFile)); err != nil {
		if folders, err = below(folder); err != nil {
			return nil, err
		}
	}
	var plans []plan.Saved
	for _, f := range folders {
		p, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot read the plan: %w; plan again with --out", filepath.Join(f, PlanFile), err)
		}
		plans = append(plans, p.Saved)
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("%s: it has no plan; use a folder from plan --out", folder)
	}
	return plans, nil
}

// below finds plan folders where Place puts them. Hidden ones are not complete.
func below(folder string) (found []string, err error) {
	namespaces, err := folders(folder)
	for _, namespace := range namespaces {
		names, failed := folders(namespace)
		err = errors.Join(err, failed)
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(name, PlanFile)); err == nil {
				found = append(found, name)
			}
		}
	}
	return found, err
}

// folders returns the folders in a folder that are not hidden.
func folders(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	shown := lists.Where(entries, func(e os.DirEntry) bool { return e.IsDir() && !strings.HasPrefix(e.Name(), ".") })
	return lists.Map(shown, func(e os.DirEntry) string { return filepath.Join(path, e.Name()) }), err
}

func read(folder string) (content, error) {
	text, err := os.ReadFile(filepath.Join(folder, PlanFile))
	if err != nil {
		return content{}, err
	}
	return decode(text)
}
