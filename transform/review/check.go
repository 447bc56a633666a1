// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// ownStages is where the order of the stages is described.
const ownStages = "docs/stages.md: the stages, their checks and their undo"

// Rules are those of changes; --accept on the command line or in the configuration of the
// base accepts some.
func Rules() []transform.Rule {
	return []transform.Rule{
		severalStages, stageOutOfOrder, stageWithUpgrade, stageUndone, stageIncomplete, stageDiffers,
		providerLost, ccmRemoved, managerChanged, planLost, flagOverridden, editWithStage, editWithoutStage,
		acceptanceAdded, configurationChanged, clusterRemoved, clusterAdded, stagesUnknown, formNotRead, contentUnknown,
		overlayChanged, excludedChange, listedFile, baseUnread,
	}
}

// check reports what is wrong with the change.
func (c *comparison) check(out Change) {
	if c.old == nil && len(c.findings) == 0 {
		c.manager()
		c.fresh() // not a cluster to migrate: its changes are not of a migration
		return
	}
	c.order()
	if c.old != nil && c.now == nil || c.took && len(transform.Stopping(c.findings)) > 0 {
		return // what the change lost is reported, and explains the rest
	}
	c.upgrade(out)
	c.machines()
	c.documents(out.Edits)
	c.manager()
	c.guards()
	c.fresh()
}

var severalStages = transform.Rule{ID: "several-stages", Severity: transform.Error,
	Doc: "One change performs several stages. Each has to be rolled out and checked before the next one."}.Because(
	"All of them restart machines at once, none is checked alone, and the cloud controllers can run in both managers.", ownStages, "Merge one stage, roll it out, check it, and then merge the next.", "If the cluster does not exist yet, or has no workload.")

var stageOutOfOrder = transform.Rule{ID: "stage-out-of-order", Severity: transform.Error,
	Doc: "A stage is performed while an earlier one is left to do."}.Because(
	"The stage depends on the earlier one: without it, no manager or two managers run the cloud controllers.", ownStages, "Apply the earlier stage first.", "If the earlier stage was made in a place that the file does not show.")

var stageUndone = transform.Rule{ID: "stage-undone", Severity: transform.Error,
	Doc: "The change removes what a stage has made. Accept it for a rollback that is intended."}.Because(
	"The next stage would start from a wrong state.", ownStages, "Restore the stage, or undo it with rke-lm apply --undo.", "For a rollback that is intended.")

// order reports stages that do not come one by one.
func (c *comparison) order() {
	at := func(message, fix string) transform.Finding {
		return transform.FindingAt(c.place(), message, fix)
	}
	skipped, begin := c.passed()
	again := "revert this edit, and begin with " + begin + ": rke-lm apply --next"
	if c.took = skipped != "" && c.old.Target.Situation.HasInTreeProvider() && !slices.Contains(c.target.Accept, plan.RuleNotInFile) && !c.after.manager(c.target).Exists(); c.took {
		c.report(providerLost, at("the provider is taken away: control planes become external, and no cloud-controller-manager is in the file, so no manager runs the cloud controllers", again))
		return
	}
	if n := c.merged(); n > 1 {
		c.report(severalStages, at(fmt.Sprintf("the change performs %d stages at once: %s", len(c.performed), strings.Join(c.performed, ", ")),
			"merge them one by one; roll each out and check it with rke-lm verify --stage before the next"))
	}
	if first := next(c.now); skipped != "" {
		c.report(stageOutOfOrder, at("the provider becomes external, and "+skipped+" comes before that and is not done", again))
	} else if first != "" && len(c.performed) > 0 && c.earlier(first, c.performed[0]) {
		c.report(stageOutOfOrder, at(c.performed[0]+" is performed, and "+first+" comes before it and is not done", "perform "+first+" first, with rke-lm apply --next"))
	}
	if len(c.undone) > 0 {
		c.report(stageUndone, at("the change undoes "+strings.Join(c.undone, ", "), "revert this edit; for a rollback that is intended, use --accept "+stageUndone.ID+", or accept it in the base"))
	}
}

// removal reports a cloud-controller-manager that is taken out of the documents. While
// kube-controller-manager is in-tree that undoes its stage, and does no harm before it.
func (c *comparison) removal() {
	was := c.before.manager(c.target)
	if !was.Exists() || c.after.manager(c.target).Exists() {
		return
	}
	if c.old != nil && c.now != nil {
		before, _ := c.old.Step(stages.InstallCCM)
		after, _ := c.now.Step(stages.InstallCCM)
		if after.State != plan.NotInFile {
			c.removed = was
			if before.State == plan.Done && !slices.Contains(c.undone, stages.InstallCCM) {
				c.undone = append(c.undone, stages.InstallCCM)
			}
			return
		}
	}
	c.removed = was
	c.report(ccmRemoved, managerRemoved(nearest(c.after.Docs[0], was)))
}

var ccmRemoved = transform.Rule{ID: "ccm-removed", Severity: transform.Error,
	Doc: "The cloud-controller-manager is taken out of the files of a cluster that has no other manager: its document, its values file, or additionalManifest. Before the switch it is stage-undone. Accept it in the base where the manager moves to a place that is not reviewed; ccm-not-in-file does not accept it.", Reason: rules.CCMRemoved}

// managerRemoved is the finding about a manager that is removed, at what is left of its place.
func managerRemoved(at yamledit.Node) transform.Finding {
	return transform.FindingAt(at, "the cloud-controller-manager is taken out, and no other manager runs the cloud controllers: new nodes stay uninitialized, and no load balancer changes",
		"revert this edit; if the manager is installed from another place, accept "+ccmRemoved.ID+" in the base until this is merged")
}

// merged is how many stages would be rolled out at once. Without leader migration some
// are made together.
func (c *comparison) merged() int {
	n := len(c.performed)
	for _, name := range c.performed {
		if with := stages.Named(name).With; c.old.Target.NoLeaderMigration && with != "" && slices.Contains(c.performed, with) {
			n--
		}
	}
	return n
}

// earlier reports whether a stage comes before another one in the plan.
func (c *comparison) earlier(a, b string) bool {
	at := func(name string) int {
		return slices.IndexFunc(c.old.Steps, func(s plan.Step) bool { return s.Stage.Name == name })
	}
	return at(a) < at(b)
}

// place is where the change edits what its first stage edits, or what the switch would, or the
// cluster as a whole.
func (c *comparison) place() yamledit.Node {
	plan, names := c.old, c.performed
	if len(names) == 0 && len(c.undone) > 0 {
		plan, names = c.now, c.undone
	} else if len(names) == 0 {
		names = []string{stages.SwitchToExternal}
	}
	return c.where(func(d difference) bool { return edited(plan, names, d.node().Path()) })
}

// where is the first difference of a kind, or the cluster as a whole.
func (c *comparison) where(is func(difference) bool) yamledit.Node {
	for i, doc := range c.before.Docs[:min(len(c.before.Docs), len(c.after.Docs))] {
		for _, d := range differences(spec(doc), spec(c.after.Docs[i])) {
			if is(d) {
				return d.at(c.after.Docs[i])
			}
		}
	}
	return c.after.Docs[0].Root()
}

var stageWithUpgrade = transform.Rule{ID: "stage-with-upgrade", Severity: transform.Error,
	Doc: "A stage comes together with another Kubernetes release that `--target-version` did not ask for: machines restart for two reasons, and neither can be undone alone."}.Because(
	"Machines restart for two reasons, and neither can be undone alone.", ownStages, "Split the change, or choose --target-version, which moves the release in the switch.", "If the release of the file only catches up with the cluster.")

// upgrade reports a stage that comes with another release.
func (c *comparison) upgrade(out Change) {
	if out.Version == "" || !c.moves() || c.old.Target.Version == out.Cluster.Version {
		return
	}
	moved := func(d difference) bool { return d.after.StringAt() == out.Cluster.Version }
	c.report(stageWithUpgrade, transform.FindingAt(c.where(moved),
		fmt.Sprintf("the change moves the cluster from %s to %s together with %s", out.Version, out.Cluster.Version, c.named()),
		"upgrade in a separate pull request, or plan the upgrade as a part of the switch, with target-version in the configuration of the base"))
}

// guards reports what the rules that guard the stages of the change find in the result. A provider that becomes external
// without them is guarded as the switch is.
func (c *comparison) guards() {
	names := c.performed
	if skipped, _ := c.passed(); skipped != "" && !slices.Contains(names, stages.SwitchToExternal) {
		names = append(slices.Clone(names), stages.SwitchToExternal)
	}
	if len(names) == 0 {
		return
	}
	t := c.old.Target
	t.Before, _ = c.before.Format.Open(c.before.Docs, t) // it has a plan, so it can be opened
	after, err := c.after.Format.Open(c.after.Docs, t)
	if err != nil {
		return // reported as a lost plan
	}
	for _, name := range names {
		own, _ := transform.Unseen(c.after.Format, after.Findings(name))
		c.findings = append(c.findings, slices.DeleteFunc(own, func(f transform.Finding) bool { return f.Severity != transform.Error })...)
	}
}

// fresh reports the errors that lint finds after the change and not before it, where no
// rule of changes has reported the place.
func (c *comparison) fresh() {
	had := map[string]bool{}
	for _, f := range lint(c.before, c.target) {
		had[f.Rule+" "+f.Path] = true
	}
	found := lint(c.after, c.target)
	removed := slices.IndexFunc(found, func(f transform.Finding) bool { return f.Rule == rules.InTreeGone.ID })
	if removed >= 0 && c.old != nil && next(c.old) != "" && !k8s.From(c.old.Cluster.Version, aws.FirstWithout) {
		found = found[removed : removed+1] // what else is wrong on that release does not matter
		c.took = true
		found[0].Fix = "do not merge this; finish the migration on " + semver.MajorMinor(c.old.Cluster.Version)[1:] + ", where " + next(c.old) + " is next, and upgrade then"
	}
	lost := lists.Where(c.findings, func(f transform.Finding) bool { return f.Rule == flagOverridden.ID })
	c.findings = append(c.findings, lists.Where(found, func(f transform.Finding) bool {
		return !had[f.Rule+" "+f.Path] && !slices.ContainsFunc(lost, func(l transform.Finding) bool { return l.File == f.File && l.Line == f.Line })
	})...)
}

// lint returns the errors of a side, and what is one in a change: a change that makes half-switched
// files is worse than files that are.
func lint(s *Side, t transform.Target) []transform.Finding {
	c, _ := s.Format.Lint(s.all(), t)
	if c == nil {
		return nil
	}
	own, _ := transform.Unseen(s.Format, c.Findings(""))
	for i := range own {
		if own[i].Rule == rules.ProviderMixed.ID {
			own[i].Severity = transform.Error
		}
	}
	return slices.DeleteFunc(own, func(f transform.Finding) bool { return f.Severity != transform.Error })
}

// routine are the paths of the manager's objects and values that change without harm, and routineArg its arguments.
// Whether it still runs after any other change is not known.
var (
	routine    = regexp.MustCompile(`(?:^|\.)(?:resources|podAnnotations|podLabels|revisionHistoryLimit|priorityClassName|tag|version)(?:\.|$)|^(?:\S+ \S+\.)?metadata\.(?:labels|annotations)\.`)
	routineArg = regexp.MustCompile(`^--(?:v|vmodule|logging-format)=`)
	helm       = regexp.MustCompile(`^(?:\S+ \S+\.)?metadata\.annotations\.helmcharts\.`) // its controller reads them
	image      = regexp.MustCompile(`^([^@]+?)(?::[\w][\w.-]*)?(?:@.*)?$`)
)

var managerChanged = transform.Rule{ID: "manager-changed", Severity: transform.Error,
	Doc: "The cloud-controller-manager changes, without a stage, in more than its labels, resources, log level, and the version of its chart or image. Whether it still starts and does the same is not known."}.Because(
	"No other manager runs the cloud controllers: if this one does not start, runs elsewhere, or runs without a controller, new nodes keep their taint and load balancers do not change.", aws.Source, "Check the change with helm template, or on a test cluster.", "If the change was reviewed by someone who knows the manager.")

// manager reports what changes of the cloud-controller-manager that runs before the change and after it, and is of no stage.
func (c *comparison) manager() {
	expected := &Side{Format: c.before.Format, Docs: c.expected, Related: c.before.Related}
	was, is := expected.manager(c.target), c.after.manager(c.target)
	if !was.Exists() || !is.Exists() || c.moves() {
		return
	}
	var changed []string
	walk("", objects(was), objects(is), func(path string, before, after any) {
		if !isRoutine(path, before, after) {
			changed = append(changed, path)
		}
	})
	if len(changed) == 0 {
		return
	}
	c.report(managerChanged, transform.FindingAt(is, "the cloud-controller-manager changes in "+lists.Few(changed, 3)+": no other manager runs the cloud controllers if it does not start, or does less",
		"check it with helm template or on a test cluster, and accept "+managerChanged.ID+" in the base until this is merged"))
}

func isRoutine(path string, before, after any) bool {
	text := func(v any) string { s, _ := v.(string); return s }
	switch {
	case helm.MatchString(path):
		return false
	case routine.MatchString(path):
		return true
	case strings.HasSuffix(path, "args") || strings.HasSuffix(path, "command"):
		return routineArg.MatchString(text(before) + text(after))
	case strings.HasSuffix(path, ".image"):
		a, b := image.FindStringSubmatch(text(before)), image.FindStringSubmatch(text(after))
		return a != nil && b != nil && a[1] == b[1]
	}
	return false
}

// objects are those of the manager by their kinds and names, or the one object or values file that has it.
func objects(n yamledit.Node) any {
	text, inline := n.String()
	if !inline {
		return n.Value()
	}
	all := map[string]any{}
	for _, c := range yamledit.Split("", []byte(text)) {
		var object map[string]any
		if !strings.Contains(string(c.Bytes), "cloud-controller-manager") || yaml.Unmarshal(c.Bytes, &object) != nil {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		all[fmt.Sprintf("%v %v", object["kind"], metadata["name"])] = object
	}
	return all
}

// walk calls found for the innermost values that differ. The order of texts in a list does not count, and texts
// that hold YAML are compared as these are read.
func walk(path string, a, b any, found func(path string, a, b any)) {
	was, isMap := mapping(path, a)
	is, both := mapping(path, b)
	if isMap && both {
		for _, key := range lists.Keys(was, is) {
			walk(strings.TrimPrefix(path+"."+key, "."), was[key], is[key], found)
		}
		return
	}
	if yamledit.Same(a, b) {
		return
	}
	x, _ := a.([]any)
	y, _ := b.([]any)
	if x == nil || y == nil {
		found(path, a, b)
		return
	}
	only := func(list, others []any) []any {
		return lists.Where(list, func(v any) bool { return !slices.ContainsFunc(others, func(o any) bool { return yamledit.Same(o, v) }) })
	}
	onlyA, onlyB := only(x, y), only(y, x)
	for i := range max(len(onlyA), len(onlyB)) {
		var before, after any
		if i < len(onlyA) {
			before = onlyA[i]
		}
		if i < len(onlyB) {
			after = onlyB[i]
		}
		walk(path, before, after, found)
	}
}

// mapping is a value as a mapping: of an object also below its kind and name, and of a text with values of a chart.
func mapping(path string, v any) (map[string]any, bool) {
	if m, is := v.(map[string]any); is {
		return m, true
	}
	text, is := v.(string)
	if !is || !strings.HasSuffix(path, "valuesContent") {
		return nil, false
	}
	var m map[string]any
	err := yaml.Unmarshal([]byte(text), &m)
	return m, err == nil && m != nil
}
