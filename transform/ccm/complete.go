// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/helmchart"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// valuesKey is the field that stages give values to.
const valuesKey = "valuesContent"

// Complete queues what a chart that is already there lacks for the migration.
func (c Chart) Complete(ed Edits, o Options, nodes []NodeClass) {
	outer := ed.In.Edit(c.Index)
	spec := c.Root.Get("spec")
	if c.Version() == "" && !c.Packed() {
		outer.Insert(spec, "version", o.Version())
	}
	if policy, of := c.FailurePolicy(); policy == "" && !of.Spec("failurePolicy").Exists() {
		outer.Insert(spec, "failurePolicy", "abort")
	}
	base, ok := o.base()
	if !ok && (!c.Base().Root.IsMap() || c.lacksTag(o)) {
		ed.File.Fail(o.Unknown(c.Root))
		return
	}
	w := writing{c, ed}
	w.checkMounting(o)
	if c.Base().Root.IsMap() {
		w.complete(o, nodes)
		return
	}
	text := o.adapt(base, nodes)
	outer.Put(spec, strings.TrimSuffix(text, "\n"), valuesKey)
	c.CompleteOver(ed, text, o, nodes)
}

// CompleteOver queues what sources of values take from a chart that gets the given
// ones as its valuesContent.
func (c Chart) CompleteOver(ed Edits, text string, o Options, nodes []NodeClass) {
	r, err := c.Rebase(parsed(text))
	ed.File.Fail(err)
	writing{Chart{r}, ed}.complete(o, nodes)
}

// complete changes only what is missing or does not work.
func (w writing) complete(o Options, nodes []NodeClass) {
	if w.lacksTag(o) {
		w.fill(o.Tag(), "image", "tag")
	}
	w.completeArgs(o)
	if !w.States("hostNetworking") && w.Value("hostNetworking") != true {
		w.fill(true, "hostNetworking")
	}
	w.addMounts(w.missingMounts(o)...)
	w.completeScheduling(o, nodes)
}

// lacksTag reports whether the image has no tag, or the one that an archive has for
// another minor.
func (c Chart) lacksTag(o Options) bool {
	return c.ImageTag() == "" || !c.States("image", "tag") && c.ImageMinor() != o.Minor
}

// missingArgs returns the arguments that the chart lacks.
func (c Chart) missingArgs(o Options) []string {
	return slices.Concat(
		lists.If(c.LacksProvider(), providerArg),
		lists.If(RoutesUnsafe(c.Args()), "--configure-cloud-routes=false"),
		lists.If(o.LeaderMigration && !c.Migrates(), "--"+LeaderFlag+"=true"),
		lists.If(c.lacksConfig(o), migrationArg),
		lists.If(o.CloudConfig && c.lacksCloudConfig(), cloudConfigArg),
		dashed(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings())))
}

// dashed are arguments as the chart has them.
func dashed(list []args.Arg) []string {
	return lists.Map(list, func(a args.Arg) string { return "--" + a.Text })
}

// HasShortLeases reports whether the manager has the timings of short leases.
func (c Chart) HasShortLeases() bool {
	return leadermigration.HasTimings(c.Args(), leadermigration.CloudTimings())
}

func (w writing) completeArgs(o Options) {
	missing := w.missingArgs(o)
	migrates := !o.LeaderMigration && w.Migrates()
	if len(missing) == 0 && !migrates {
		return
	}
	if unseen, hidden := w.Unknown(argsKey); hidden {
		w.ed.File.Fail(unseen.At.Errorf("the arguments of the chart depend on "+unseen.Name+", which the file does not show",
			"list all arguments as args in valuesContent, with "+strings.Join(missing, " ")))
		return
	}
	p, list := w.list(argsKey)
	if migrates {
		args.Remove(p.edit, list, LeaderFlag) // only a list has it
	}
	switch {
	case len(missing) == 0:
	case list.IsList():
		for _, m := range missing {
			if !args.Rewrite(p.edit, list, m) {
				p.edit.Append(list, m)
			}
		}
	default:
		all := slices.Clone(w.Chart.list(argsKey))
		if len(all) == 0 {
			all = slices.Clone(defaultArgs)
		}
		for _, m := range missing {
			all = append(all, m)
		}
		p.put(all, argsKey)
	}
}

func (c Chart) lacksCloudConfig() bool { return !args.Has(c.Args(), "cloud-config") }

// lacksConfig reports whether the options require a configuration that the chart
// does not have.
func (c Chart) lacksConfig(o Options) bool { return o.MigrationConfig && c.ConfigFile() == "" }

// missingMounts returns what Complete has to mount.
func (c Chart) missingMounts(o Options) []mount {
	return slices.Concat(lists.If(c.lacksConfig(o) && !c.mounts(migrationMount), migrationMount),
		lists.If(o.CloudConfig && c.lacksCloudConfig() && !c.mounts(cloudConfigMount), cloudConfigMount))
}

// checkMounting fails the edit where the chart cannot mount what it lacks.
func (w writing) checkMounting(o Options) {
	if len(w.missingMounts(o)) == 0 {
		return
	}
	w.ed.File.Fail(checkMounting(yamledit.First(w.Root.Get("spec", "version"), w.Root.Get("spec")), cmp.Or(w.Version(), o.Version())))
}

// chartKeys are the keys that the published charts read (kubernetes/cloud-provider-aws,
// charts/aws-cloud-controller-manager, from 0.0.5 to 0.0.11).
var chartKeys = []string{
	argsKey, "clusterRoleName", "clusterRoleRules", "dnsPolicy", "env", volumesKey, mountsKey, "hostNetworking", "image",
	"imagePullSecrets", "nameOverride", "namespace", selectorKey, "podAnnotations", "podSecurityContext", "resources",
	"roleBindingName", "roleName", "securityContext", "serviceAccount", "serviceAccountName", tolerationsKey,
}

// CheckValues refuses a document that is no values file of the chart.
func CheckValues(doc *yamledit.Document) error {
	root := doc.Root()
	const name = "name the file that helm reads with --values"
	kind := root.StringAt("kind")
	switch {
	case !root.Exists() || root.IsNull():
		return root.Errorf("the values file has no values", "write a value of the chart, such as args, or remove --ccm-values")
	case !root.IsMap():
		return root.Errorf("the values of a chart must be a mapping", name)
	case kind != "" && root.Get("apiVersion").Exists():
		return root.Errorf("this is an object of kind "+kind+", and no values file", name)
	case !slices.ContainsFunc(root.Entries(), func(e yamledit.Entry) bool { return slices.Contains(chartKeys, e.Key) }):
		return root.Errorf("no value of the chart "+ChartName+" is in this file: it has none of "+strings.Join([]string{argsKey, "image", selectorKey, tolerationsKey, "hostNetworking"}, ", "), name)
	}
	return nil
}

// CompleteValues queues what values without a HelmChart around them lack for the migration.
func (c Chart) CompleteValues(e *yamledit.Edit, o Options, nodes []NodeClass) {
	w := writing{c, Edits{File: e}}
	w.checkMounting(o)
	w.complete(o, nodes)
}

// Options are the operator's choices for the chart.
type Options struct {
	ChartVersion    string // "" for DefaultVersion
	ChartRepo       string // "" for aws.ChartRepository
	ImageRepository string // "" for the chart's own
	ImageTag        string // "" for the one of the minor
	Format          string
	Minor           string // of the cluster, such as "v1.26"
	LeaderMigration bool
	ShortLeases     bool // with the timings of short leases
	CloudConfig     bool // mount the Secret CloudConfigSecret and name its file
	MigrationConfig bool // mount the ConfigMap MigrationConfigMap and name its file
}

// OptionsFor returns the choices for a cluster of a format on a release. From 1.28 on no
// manager is left that could hand over: a migration ends with the switch to 1.27.
func OptionsFor(t transform.Target, format, version string, cloudConfig bool) Options {
	return Options{
		ChartVersion: t.ChartVersion, ChartRepo: t.ChartRepo,
		ImageRepository: t.ImageRepository, ImageTag: t.ImageTag,
		Format: format, Minor: semver.MajorMinor(version), LeaderMigration: !t.NoLeaderMigration && !k8s.From(version, newRights),
		CloudConfig: cloudConfig, ShortLeases: t.ShortLeases,
	}
}

// Tag returns the tag of the image, or "" where none is known.
func (o Options) Tag() string { return cmp.Or(o.ImageTag, DefaultTag(o.Format, o.Minor)) }

// CheckMounting fails where the chart of these options cannot mount what they
// require; the error is about at.
func (o Options) CheckMounting(at yamledit.Node) error {
	if !o.CloudConfig && !o.MigrationConfig {
		return nil
	}
	return checkMounting(at, o.Version())
}

// newRights is the first minor whose image is served with the later chart.
const newRights = "v1.28"

// firstWithRights is the first chart for such an image.
const firstWithRights = "0.0.9"

// Version is the chart's version. Charts before 0.0.9 do not grant what the managers of
// 1.28 and later ask for to authorize the readers of their metrics
// (kubernetes/cloud-provider-aws, charts/aws-cloud-controller-manager).
func (o Options) Version() string {
	if k8s.From(o.Minor, newRights) {
		return cmp.Or(o.ChartVersion, LaterVersion)
	}
	return cmp.Or(o.ChartVersion, DefaultVersion)
}

// Repo is where the chart is fetched from.
func (o Options) Repo() string { return cmp.Or(o.ChartRepo, aws.ChartRepository) }

// CheckJoined requires that a chart has what the options require, and a pod on each of the nodes.
func (c Chart) CheckJoined(o Options, nodes []NodeClass) error {
	err := cmp.Or(
		transform.Require(c.Migrates() == o.LeaderMigration, "the chart would not have the expected --%s", LeaderFlag),
		transform.Require(len(leadermigration.Missing(o.ShortLeases, c.Args(), leadermigration.CloudTimings())) == 0, "the chart would not have the timings of short leases"),
		transform.Require(!o.MigrationConfig || c.ConfigMounted(), "the chart would not mount the manager's configuration"))
	if err != nil || !c.SchedulingShown() {
		return err
	}
	return lists.Check(nodes, func(class NodeClass) error {
		why := c.Refuses(class)
		return transform.Require(why == "", "the chart would not run on nodes of class %s: %s", class.Name, why)
	})
}

// CheckLeft requires that nothing of the migration is left on a chart.
func (c Chart) CheckLeft() error {
	return cmp.Or(transform.Require(!c.Migrates(), "the chart would still have --%s", LeaderFlag),
		transform.Require(!c.OwnConfig(), "the chart would still have --%s", leadermigration.ConfigFlag))
}

// StopMigrating queues the end of the migration: the flag and the configuration go
// unless they are to be kept, and the image moves to a tag unless that is "".
func (c Chart) StopMigrating(ed Edits, tag string, keep bool) {
	w := writing{c, ed}
	if !keep && (c.Migrates() || c.OwnConfig()) {
		w.removeMigration()
	}
	if tag != "" {
		w.place("image", "tag").put(tag, "image", "tag")
	}
}

// FinalTag returns the image tag that the chart has to have at the end on a minor, or "" to
// keep the one it has: a tag of that minor, whatever its patch, or one that the operator chose
// and that names no minor.
func (c Chart) FinalTag(t transform.Target, format, minor string) string {
	own := semver.MajorMinor(t.ImageTag)
	switch {
	case t.KeepLeaderMigration && c.ConfigFile() != "" && !leadermigration.SameNames(c.ImageTag(), minor):
		return "" // its configuration stays, and names the controllers of this image
	case c.ImageTag() == "", c.ImageMinor() == minor, own == "" && c.ImageTag() == t.ImageTag:
		return ""
	case own == minor:
		return t.ImageTag
	}
	return DefaultTag(format, minor)
}

// Raise queues the version of the chart that grants what the image of a minor asks for, where the
// file pins an earlier one of the published charts.
func (c Chart) Raise(ed Edits, o Options) {
	at := c.Root.Get("spec", "version")
	now, is := at.String()
	if !is || !k8s.From(o.Minor, newRights) || c.Packed() || c.Foreign() != "" || !semver.IsValid("v"+now) || semver.Compare("v"+now, "v"+firstWithRights) >= 0 {
		return
	}
	ed.In.Edit(c.Index).Set(at, o.Version())
}

// removeMigration takes away the flag, the configuration's argument, and what
// rke-lm has mounted for it.
func (w writing) removeMigration() {
	w.removeFlags()
	if !w.OwnConfig() {
		return
	}
	if i := FindMigrationConfig(w.ed.Documents()); i >= 0 {
		w.ed.In.Remove(i)
	}
	w.removeMount(MigrationConfigMap)
}

// removeFlags takes them out of the source that decides, and out of those below it,
// where they would come back with its end.
func (w writing) removeFlags() {
	if p, list := w.list(argsKey); !list.IsList() { // an archive's own arguments have the flag
		p.put(lists.Map(args.Without(w.Args(), LeaderFlag, leadermigration.ConfigFlag), func(a args.Arg) any { return a.Text }), argsKey)
	}
	for _, l := range w.Layers {
		if list := l.Root.Get(argsKey); l.Form == helmchart.Own || !list.IsList() || !migrates(list) {
			continue
		}
		p := w.ed.open(l)
		args.Remove(p.edit, p.root.Get(argsKey), LeaderFlag)
		args.Remove(p.edit, p.root.Get(argsKey), leadermigration.ConfigFlag)
	}
}

// migrates reports whether a list has arguments of a migration.
func migrates(list yamledit.Node) bool {
	all := args.Of(list.Value())
	return len(args.Without(all, LeaderFlag, leadermigration.ConfigFlag)) < len(all)
}

// StartMigrating queues the reverse of StopMigrating, but for the ConfigMap. The
// arguments are put where the values for the cluster's minor have them, and last
// among other arguments.
func (c Chart) StartMigrating(ed Edits, o Options) {
	w := writing{c, ed}
	p, list := w.list(argsKey)
	if !list.IsList() {
		ed.File.Fail(c.Root.Errorf("its values list no arguments", "add --"+LeaderFlag+"=true manually"))
		return
	}
	i := o.flagPlace(list)
	p.edit.InsertItem(list, i, "--"+LeaderFlag+"=true")
	if o.MigrationConfig {
		p.edit.InsertItem(list, i, migrationArg)
		w.addMounts(migrationMount)
	}
}

// flagPlace returns where the flag belongs in a list that lacks it, and the
// configuration's argument.
func (o Options) flagPlace(list yamledit.Node) int {
	base, _ := o.base()
	ours := args.Of(parsed(o.adapt(base, nil)).Get("args").Value())
	i := slices.IndexFunc(ours, func(a args.Arg) bool { return a.Name == LeaderFlag })
	same := func(a, b args.Arg) bool { return a.Text == b.Text }
	if i < 0 || !slices.EqualFunc(args.Without(ours, LeaderFlag, leadermigration.ConfigFlag), args.Of(list.Value()), same) {
		return list.Len()
	}
	return i
}
