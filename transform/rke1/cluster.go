// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/data/convert"
	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const controlPlaneRole = "controlplane"

// Cluster is a cluster of RKE, read off a document.
type Cluster struct {
	Doc     *yamledit.Document
	Config  yamledit.Node // RKE's configuration: the root, or what an object of Rancher holds
	Wrapped bool          // an object of Rancher holds it
	Name    string
	Version string // of the document, or else the assumed one
	Read    config // as RKE reads Config

	spelling spelling
}

// Open reads a cluster. It fails with a *yamledit.Error for what RKE would refuse
// or what cannot be read off the document with certainty. assumeVersion
// replaces a version that the document does not state.
func Open(doc *yamledit.Document, assumeVersion string) (*Cluster, error) {
	c, err := load(doc)
	if err != nil {
		return nil, err
	}
	return c, c.setVersion(assumeVersion)
}

// load reads all but the version, which is required only of clusters on AWS.
func load(doc *yamledit.Document) (*Cluster, error) {
	c := &Cluster{Doc: doc, Name: identify(doc).Name}
	c.Config, c.spelling, c.Wrapped = configOf(doc.Root())
	if !c.Config.IsMap() {
		return nil, doc.Root().Errorf("not the configuration of an RKE cluster", "name a cluster.yml, or an object of Rancher that holds one")
	}
	if c.Wrapped {
		if err := k8s.CheckNames(doc.Root().Get("metadata")); err != nil {
			return nil, err
		}
	}
	var err error
	c.Read, err = read(c.Config, c.spelling)
	return c, err
}

// identify reads a cluster's name off its document: RKE's own, or that of the
// object of Rancher.
func identify(doc *yamledit.Document) transform.Identity {
	config, s, _ := configOf(doc.Root())
	own := doc.Root().StringAt
	return transform.Identity{Format: Name, Name: cmp.Or(s.get(config, clusterKey).StringAt(), own("metadata", "name"), own("name"))}
}

// get follows keys of RKE from the configuration on.
func (c *Cluster) get(keys ...string) yamledit.Node { return c.spelling.get(c.Config, keys...) }

// put writes a value at the end of a path of keys, each as the document spells it.
func (c *Cluster) put(e *yamledit.Edit, value any, path ...string) {
	written, at := make([]string, len(path)), c.Config
	for i, key := range path {
		written[i], at = c.spelling.of(key), c.spelling.get(at, key)
		if at.Exists() {
			written[i] = at.Key()
		}
	}
	e.Put(c.Config, value, written...)
}

var releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+-rancher\d+(-\d+)?$`)

func isRelease(version string) bool {
	return releaseForm.MatchString(version) && semver.IsValid(version)
}

// exampleRelease is what messages show.
const exampleRelease = "v1.26.15-rancher1-1"

// setVersion takes the release of the file. The tag of an own Kubernetes image
// replaces one that is not stated.
func (c *Cluster) setVersion(assumed string) (err error) {
	stated := strings.TrimSpace(c.Read.Version)
	if stated == "" && isRelease(c.imageTag()) {
		stated = c.imageTag()
	}
	c.Version, err = k8s.Statement{
		At: yamledit.First(c.get(versionKey), c.Config), Holder: c.Config, Key: c.spelling.of(versionKey),
		Stated: stated, Assumed: assumed,
		Format: "an RKE", Example: exampleRelease, Is: isRelease,
	}.Version()
	return err
}

// checkMinor refuses a minor that RKE has no release of: it ends at the last one that values of
// the chart are known for.
func (c *Cluster) checkMinor() error {
	return checkMinor(yamledit.First(c.get(versionKey), c.Config), c.Version, "correct the version; for a later one, move the workloads to a cluster of RKE2")
}

func checkMinor(at yamledit.Node, version, do string) error {
	minor := semver.MajorMinor(version)
	if newest[minor] != "" {
		return nil
	}
	return at.Errorf("RKE has no release of Kubernetes "+strings.TrimPrefix(minor, "v")+", but of "+ccm.Known(Name), do)
}

// imageTag returns the tag of an own Kubernetes image, which counts before the
// version (rancher/rke, types), or "".
func (c *Cluster) imageTag() string {
	i := strings.LastIndexAny(c.Read.SystemImages.Kubernetes, ":/")
	if i < 0 || c.Read.SystemImages.Kubernetes[i] != ':' {
		return ""
	}
	return c.Read.SystemImages.Kubernetes[i+1:]
}

// promised reports whether a value that RKE reads may go from one to the other. The
// path to it is spelt as in Rancher's API, in every document; an absent value is
// nil.
type promised func(path string, before, after any) bool

// check compares what RKE reads before and after a stage. What does not change
// needs no promise.
func (m *migration) check(after *migration, ok promised) error {
	before, err := m.values()
	if err != nil {
		return err
	}
	now, err := after.values()
	if err != nil {
		return err
	}
	for _, path := range lists.Keys(before, now) {
		if !reflect.DeepEqual(before[path], now[path]) && !ok(path, before[path], now[path]) {
			return fmt.Errorf("%s would change", path)
		}
	}
	return m.strictness().Allows(after.strictness())
}

// values returns every value that RKE reads by the path to it.
func (c *Cluster) values() (map[string]any, error) {
	var v any
	found, err := map[string]any{}, convert.ToObj(c.Read, &v)
	flatten("", v, found)
	return found, err
}

func flatten(path string, v any, into map[string]any) {
	m, isMap := v.(map[string]any)
	if !isMap {
		into[path] = v
		return
	}
	for key, inner := range m {
		if path != "" {
			key = path + "." + key
		}
		flatten(key, inner, into)
	}
}
