// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ccm reads and changes the HelmChart of the
// aws-cloud-controller-manager.
//
// Invariant: what is checked is what reaches the chart after the merge of all
// sources of values, and what is changed is the source that wins.
package ccm

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// ChartName is the name of the chart, its DaemonSet and its container.
	ChartName = aws.Manager
	// DefaultVersion is the chart's version that is pinned unless set otherwise.
	DefaultVersion = "0.0.8"
	// LaterVersion is the one that is pinned for Kubernetes 1.28 and later.
	LaterVersion = "0.0.11"
	// ValuesFile is the name of a file with the chart's values.
	ValuesFile = aws.Values + ".yaml"
	// LeaderFlag is the flag by which the manager takes part in a migration.
	LeaderFlag = leadermigration.Flag

	argsKey = "args"
)

// Chart is a HelmChart of the aws-cloud-controller-manager, with the values that
// reach it.
type Chart struct{ helmchart.Release }

// Find returns the chart among the manifests of a cluster, or the first one of
// several. It fails where the values of one cannot be read.
func Find(s helmchart.Sources) (Chart, bool, error) { return First(FindAll(s)) }

// First returns the first of some charts, and the error with which they were found.
func First(all []Chart, err error) (Chart, bool, error) {
	if len(all) == 0 {
		return Chart{}, false, err
	}
	return all[0], true, err
}

// FindAll returns all such charts, and the first one whose values cannot be read
// with the error.
func FindAll(s helmchart.Sources) ([]Chart, error) {
	var found []Chart
	s = s.Indexed()
	for _, c := range helmchart.Charts(s.Docs) {
		r, err := s.Read(c, publishedValues)
		chart := Chart{r}
		if !chart.isManager() {
			continue
		}
		found = append(found, chart)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// Args returns the manager's arguments.
func (c Chart) Args() []args.Arg { return args.Of(c.list(argsKey)) }

// Placed returns the arguments with their places.
func (c Chart) Placed() []args.Arg {
	l := c.Decider(argsKey)
	if at := l.Root.Get(argsKey); at.IsList() {
		return args.Place(at)
	}
	if l.Form != helmchart.Entry {
		return nil // the chart's own
	}
	return lists.Map(c.Args(), func(a args.Arg) args.Arg { return a.At(l.At) })
}

// list returns the value at a key of the chart where it is a list; a template that
// ranges over anything else renders nothing.
func (c Chart) list(key string) []any {
	list, _ := c.Value(key).([]any)
	return list
}

// Migrates reports whether the manager takes part in a leader migration.
func (c Chart) Migrates() bool { return args.Enables(c.Args(), LeaderFlag) }

// Version returns the pinned version of the chart, or "". An archive has one of its
// own, and spec.version then has no effect (klipper-helm, entry).
func (c Chart) Version() string {
	switch {
	case c.Archive != nil:
		return c.Archive.Version
	case c.Packed() || c.Reference.Version != "":
		return c.Reference.Version
	}
	return c.Root.StringAt("spec", "version")
}

// Pinned reports whether the chart has an exact version. One that the file holds
// has, whatever it is called.
func (c Chart) Pinned() bool {
	v := c.Version()
	return c.Spec("chartContent").Exists() || semver.IsValid("v"+v) || semver.IsValid(v) || strings.HasPrefix(v, "sha256:")
}

// Packed reports whether the HelmChart names an archive, or holds it.
func (c Chart) Packed() bool { return c.Reference.Archive || c.Archive != nil || c.ArchiveErr != nil }

// ImageTag returns the pinned tag of the image, or "".
func (c Chart) ImageTag() string {
	tag, _ := c.Value("image", "tag").(string)
	return tag
}

// ImageMinor returns the minor of the pinned image, such as "v1.26", or "".
func (c Chart) ImageMinor() string { return semver.MajorMinor(c.ImageTag()) }

// RoutesUnsafe reports whether a manager with these arguments writes routes and has
// no range of addresses for them: by default it writes them, and the process then
// ends when it acquires the lease (k8s.io/cloud-provider/app/core.go).
func RoutesUnsafe(list []args.Arg) bool {
	const routes = "configure-cloud-routes"
	return (args.Enables(list, routes) || !args.Has(list, routes)) && args.Value(list, "cluster-cidr") == ""
}

// LacksProvider reports whether a list of arguments left out the provider.
func (c Chart) LacksProvider() bool { return args.Value(c.Args(), "cloud-provider") != aws.Name }

// LacksRights reports whether the arguments need a right that neither the
// chart's default rules nor the values grant: get on serviceaccounts.
func (c Chart) LacksRights() bool {
	return args.Enables(c.Args(), "use-service-account-credentials") && !slices.ContainsFunc(c.list("clusterRoleRules"), func(v any) bool {
		rule, _ := v.(map[string]any)
		return holds(rule["resources"], "serviceaccounts") && holds(rule["verbs"], "get")
	})
}

func holds(v any, want string) bool {
	list, _ := v.([]any)
	return slices.ContainsFunc(list, func(v any) bool { return v == want || v == "*" })
}

// Added returns the chart of a manifest of Manifest that is to be added to others, as what is
// there already will change it.
func Added(there helmchart.Sources, manifest string) (Chart, error) {
	docs, err := yamledit.ParseStream(manifest)
	charts := helmchart.Charts(docs)
	if err != nil || len(charts) != 1 { // the repository and the versions are the operator's words
		return Chart{}, cmp.Or(err, errors.New("the manifests to be added hold no HelmChart"))
	}
	r, err := there.Read(charts[0], publishedValues)
	return Chart{r}, err
}

// FromValues returns a chart from values without a chart around them.
func FromValues(root yamledit.Node) (Chart, error) {
	r, err := helmchart.Alone(defaultValues, root)
	return Chart{r}, err
}

// File returns the values of the chart as a file for helm; "" where it has none.
// Values of several sources are written merged.
func (c Chart) File() (string, error) {
	base := c.Base()
	if !c.Overrides() {
		if !base.Root.Exists() {
			return "", nil
		}
		return strings.TrimSuffix(string(base.Root.Document().Bytes()), "\n") + "\n", nil
	}
	text, err := yaml.Marshal(c.Given())
	return string(text), err
}

// managerName is part of the name of what runs the cloud-controller-manager of any cloud: of its
// chart, image or object.
var managerName = regexp.MustCompile(`cloud-controller|cloud-provider|\b(ccm|cpi)\b`)

// OtherManager returns the name of a HelmChart or workload that runs the cloud-controller-manager
// of a cloud that is not AWS; "" for none.
func OtherManager(docs []*yamledit.Document) string {
	for _, d := range docs {
		root := d.Root()
		names := []string{root.StringAt("metadata", "name")}
		switch root.StringAt("kind") {
		case "HelmChart":
			names = append(names, root.StringAt("spec", "chart"))
		case "DaemonSet", "Deployment":
			for _, c := range root.Get("spec", "template", "spec", "containers").Items() {
				names = append(names, c.StringAt("image"))
			}
		default:
			continue
		}
		if all := strings.ToLower(strings.Join(names, " ")); managerName.MatchString(all) && !strings.Contains(all, aws.Name) {
			return names[0]
		}
	}
	return ""
}

// publishedTemplates are the digests of what the published charts render that take
// their arguments from args: those of 0.0.4 to 0.0.6, 0.0.6 in cloud-provider-aws
// v1.24.0, 0.0.7, 0.0.8, 0.0.8 in v1.32.0 up to 0.0.11, and 0.0.11 in v1.37.0
// (kubernetes/cloud-provider-aws, charts/aws-cloud-controller-manager).
var publishedTemplates = []string{
	"19abcc5e5a620336c25e959f2999e42eedefe41ffe66eb79ab63d99e87c4c756",
	"e12b90c9f64fde63f258b2a6ff6b8542997e7d50505c6264ee319f8e71ea0916",
	"9515a18f9a27bb016f456e67c6200e44474f392c4d46fdd1c9eaf7a91e3435d7",
	"e4bef95c927fdb972027644640e45bf573648e09acfd014e2e9403bc9c495873",
	"c4217c761c4118515c0c44263bafc9f2e7f28c910cf03115842fc6394aa1228b",
	"017c55dda144668c22d53a3b9ea683e2ed203ffcffbdac82c904767b747e8804",
}

// PublishedTemplates reports whether a digest is that of a published chart's
// templates.
func PublishedTemplates(digest string) bool { return slices.Contains(publishedTemplates, digest) }

const providerArg = "--cloud-provider=" + aws.Name

// defaultArgs are the arguments of the published chart.
var defaultArgs = []any{"--v=2", providerArg}

// defaultValues are as much of the published chart's values.yaml as is checked. Its
// image has another tag in each version, so that a file without one pins none.
var defaultValues = map[string]any{
	argsKey:        defaultArgs,
	"nodeSelector": map[string]any{controlPlaneRole: ""},
	"tolerations": []any{
		map[string]any{"key": Uninitialized.Key, "value": "true", "effect": string(corev1.TaintEffectNoSchedule)},
		map[string]any{"key": "node-role.kubernetes.io/master", "effect": string(corev1.TaintEffectNoSchedule)},
		map[string]any{"key": controlPlaneRole, "effect": string(corev1.TaintEffectNoSchedule)},
	},
}

// publishedValues returns the values of the published chart, whose name a mirror
// keeps.
func publishedValues(r helmchart.Reference) map[string]any {
	if r.Name != ChartName {
		return nil
	}
	return defaultValues
}

// isManager reports whether a HelmChart installs the cloud-controller-manager of
// AWS. A chart of another name, and an archive that cannot be read, do so by the
// object's name, the image or the provider among the arguments.
func (c Chart) isManager() bool {
	switch {
	case c.Archive != nil && c.Archive.Name == ChartName:
		return true
	case c.Archive == nil && c.ArchiveErr == nil && c.Reference.Name == ChartName:
		return true
	case c.Name() == ChartName:
		return true
	}
	repository, _ := c.Value("image", "repository").(string)
	if a, set := args.Last(c.Args(), "cloud-provider"); set {
		return a.Value == aws.Name
	}
	return repository != "" && IsManager(repository, nil)
}

// Foreign reports why the chart may not do with its values what the published one
// does, or "".
func (c Chart) Foreign() string {
	switch {
	case c.ArchiveErr != nil:
		return "chartContent cannot be read: " + c.ArchiveErr.Error()
	case c.Archive != nil && !PublishedTemplates(c.Archive.Templates):
		return "the templates in chartContent are not those of the published chart"
	case c.Archive == nil && c.Reference.Name != ChartName:
		return "the chart " + c.Reference.Name + " is not in the file, and its name is not that of the published chart"
	}
	return ""
}

// Workload is a cloud-controller-manager of AWS that a manifest runs without the
// chart.
type Workload struct {
	Index     int           // of its document in the manifest
	Container yamledit.Node // of the manager
}

// FindWorkload returns the first one among the documents of a manifest.
func FindWorkload(docs []*yamledit.Document) (Workload, bool) {
	for i, d := range docs {
		switch d.Root().StringAt("kind") {
		case "DaemonSet", "Deployment":
			for _, c := range d.Root().Get("spec", "template", "spec", "containers").Items() {
				if w := (Workload{i, c}); IsManager(c.StringAt("image"), w.Args()) {
					return w, true
				}
			}
		}
	}
	return Workload{}, false
}

// IsManager reports whether a container runs the cloud-controller-manager of AWS,
// by its provider, or else by its image: one whose name says no provider is that of
// the folder or registry it is in. A misspelt aws counts: its manager exits, and is
// to be found.
func IsManager(image string, list []args.Arg) bool {
	const manager = "cloud-controller-manager"
	name := k8s.ParseImage(image).Base()
	if !strings.Contains(name, manager) {
		return false
	}
	if a, set := args.Last(list, "cloud-provider"); set {
		return strings.Contains(strings.ToLower(a.Value), aws.Name)
	}
	if name == manager {
		name = image
	}
	return strings.Contains(name, aws.Name)
}

// Args returns the manager's arguments; its command may hold some.
func (w Workload) Args() []args.Arg {
	return append(args.Of(w.Container.Get("command").Value()), args.Of(w.Container.Get("args").Value())...)
}

// Tag returns the tag of the manager's image.
func (w Workload) Tag() string { return k8s.ParseImage(w.Container.StringAt("image")).Tag }

// Migrate queues that the manager takes part in a leader migration, or that it no
// longer does. in is the manifest that holds it. The timings of its leases come with the flag, and stay.
func (w Workload) Migrate(in *yamledit.Embedded, on, shortLeases bool) error {
	items := 0
	if w.Container.Get("command").IsList() {
		items = 1 // the program
	}
	list, err := args.ReadContainer(w.Container, items)
	if err != nil {
		return err
	}
	u := args.Update{Remove: []string{LeaderFlag}}
	if on {
		u = args.Update{Set: append([]args.Arg{args.On(LeaderFlag)}, leadermigration.Missing(shortLeases, w.Args(), leadermigration.CloudTimings())...)}
	}
	list.Apply(in.Edit(w.Index), u)
	return nil
}

// Migrates reports whether the manager takes part in a leader migration.
func (w Workload) Migrates() bool { return args.Enables(w.Args(), LeaderFlag) }

// WrongProvider reports whether the arguments name another provider than aws, as
// the manager spells it: it exits at once. Its default is aws (cloud-provider-aws
// cmd/aws-cloud-controller-manager).
func (w Workload) WrongProvider() bool {
	a, set := args.Last(w.Args(), "cloud-provider")
	return set && a.Value != aws.Name
}
