// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/clusters"
	"github.com/rke-lm/rke-lm/internal/git"
	"github.com/rke-lm/rke-lm/internal/planfolder"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/review"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Plan plans clusters.
type Plan struct {
	Options
	Stage   string // the only one that is shown; "" for all
	Classes bool   // with the effective configuration
	Brief   bool   // of all stages without a diff, but for the next one
	Folders Folders
}

// Planned is the plan of a cluster, and those that follow it up to a later release.
type Planned struct {
	report.Planned
	Left    bool     // edits, or manual stages
	folders []Folder // of each plan
}

// Run plans every cluster, and writes the folders. It keeps none of the documents of stages, which take a megabyte.
func (p Plan) Run(ctx context.Context) ([]Result[Planned], error) {
	results, err := Each(ctx, p.Options, p.cluster)
	if err != nil {
		return nil, err
	}
	p.Folders.taken = map[string]string{}
	return ended(ctx, results, func(r *Result[Planned]) {
		p.Folders.write(r.Made)
		if r.Err != nil {
			r.Made.Errs = append(r.Made.Errs, r.Err)
		} else if r.Form.Line > 0 { // an error names it
			r.Made.Found = report.Findings(review.NotRead(r.Form, transform.Note, p.Target.Accept))
		}
	})
}

func (p Plan) cluster(f clusters.Cluster, t transform.Target) (*Planned, error) {
	if err := f.Refusal(t); err != nil {
		return nil, err
	}
	t, err := p.Finder.WithValues(f, t)
	if err != nil {
		return nil, err
	}
	plans, err := plan.Sequence(f.Format, f.Docs, t)
	if err != nil {
		return nil, err
	}
	_, unseen := plans[0].Findings()
	made := &Planned{Planned: report.Planned{Unseen: unseen}}
	if p.Classes {
		found, _ := f.Format.Classes(f.Docs, t) // none where explain has nothing to explain
		made.Classes = lists.Map(found, func(c transform.MachineClass) report.Class { return report.NewClass(c, "") })
	}
	for i, plan := range plans {
		made.Plans = append(made.Plans, report.NewPlan(plan, p.Stage, p.Brief))
		made.Plans[i].Status.Live = f.Live.Name()
	}
	first := &made.Plans[0]
	if step, _ := plans[0].Step(p.Stage); step.State == plan.NotInFile && t.Version == "" { // only a choice of this very stage edits the file
		alone, err := plan.BuildFor(f.Format, f.Docs, t, plan.Choice{Stage: p.Stage})
		if err != nil {
			return nil, err
		}
		status := first.Status
		*first = report.NewPlan(alone, p.Stage, false)
		first.Status = status
	}
	first.Findings = report.Findings(f.Objections(t))
	first.Status.Count(first.Findings)
	made.Left = first.Status.Summary.Counts.Count() != plan.CountDone || len(plans) > 1
	for i, plan := range plans {
		if p.Folders.Dir == "" {
			break
		}
		folder, err := p.Folders.folder(plan, made.Plans[i], f)
		if err != nil {
			return made, err
		}
		made.folders = append(made.folders, folder)
	}
	return made, nil
}

// Folders writes plans below a folder.
type Folders struct {
	Dir     string // "" for none
	Replace bool
	Server  []string          // the flags that name the Rancher of live clusters
	taken   map[string]string // place of each plan written: what it is the plan of
}

// Check refuses a folder in which the next search would take the plans' documents
// for clusters.
func (fs *Folders) Check(paths []string) error {
	if path, inside := source.Covers(paths, fs.Dir); inside && fs.Dir != "" {
		return fmt.Errorf("--out %s: it is in %s, where its documents would be read as clusters; use a folder elsewhere, or a hidden one", fs.Dir, path)
	}
	return nil
}

// Folder is what is written for a plan.
type Folder struct {
	plan  plan.Saved
	files []action.File
}

// folder makes the folder of a plan of one cluster.
func (fs *Folders) folder(p *plan.Plan, shown report.Plan, of clusters.Cluster) (Folder, error) {
	paths := lists.Map(of.Sources, source.Source.Absolute)
	kept := p.Save(paths...)
	folder, err := filepath.Abs(filepath.Join(fs.Dir, planfolder.Place(kept)))
	if err := cmp.Or(fs.separate(p, paths), err); err != nil {
		return Folder{}, err
	}
	files, err := planFiles(p, shown, folder, paths, of, fs.Server)
	return Folder{kept, files}, err
}

// write writes the folders of a cluster, up to one that fails.
func (fs *Folders) write(made *Planned) {
	for i, f := range made.folders {
		place, err := "", fs.claim(f.plan)
		if err == nil {
			place, err = planfolder.Write(fs.Dir, f.plan, f.files, fs.Replace)
		}
		if err != nil {
			made.Errs = append(made.Errs, err)
			return
		}
		made.Clusters = append(made.Clusters, report.Outcome{Name: place + ": plan ", What: "written"})
		if i == 0 {
			made.Runbook = filepath.Join(place, runbookFile)
		}
	}
}

// separate refuses the folder of a static pod, which a kubelet may read: what it finds
// there it starts.
func (fs *Folders) separate(p *plan.Plan, paths []string) error {
	for i, doc := range p.Start {
		if doc.Root().StringAt("kind") != "Pod" || paths[i] == "" {
			continue
		}
		if folder, inside := source.Covers([]string{filepath.Dir(paths[i])}, fs.Dir); inside {
			return fmt.Errorf("--out %s: it is in %s next to a static pod, where a kubelet can read it; use a folder elsewhere", fs.Dir, folder)
		}
	}
	return nil
}

// claim refuses a second plan for one folder, on file systems too that do not tell
// capital letters from small ones.
func (fs *Folders) claim(s plan.Saved) error {
	place, of := strings.ToLower(planfolder.Place(s)), fmt.Sprintf("%s, document %d (%s)", s.Source.File, s.Source.Document+1, s.Cluster.Title())
	if other, taken := fs.taken[place]; taken {
		return transform.NewError(transform.ExitRefused, fmt.Sprintf("%s: the folder %s has the plan of %s; use a different --out for each", of, filepath.Join(fs.Dir, planfolder.Place(s)), other))
	}
	fs.taken[place] = of
	return nil
}

// bookFiles are what a plan folder holds for people: a runbook, and the files that it names.
type bookFiles struct {
	report.Runbook
	files []action.File
}

// add adds a file, and returns its name.
func (b *bookFiles) add(name string, content []byte) string {
	b.files = append(b.files, action.File{Name: name, Content: string(content)})
	return name
}

// planFiles returns what a plan folder holds for people. server are the flags that name the
// Rancher of a live cluster.
func planFiles(p *plan.Plan, shown report.Plan, folder string, paths []string, of clusters.Cluster, server []string) ([]action.File, error) {
	from := newStart(folder, paths)
	book := bookFiles{Runbook: report.Runbook{Plan: p, Top: from.name(), Folder: from.path(folder), Paths: map[string]string{}}}
	if of.Live != nil {
		book.Live, book.Server = of.Live.Name(), server
	}
	for i, path := range paths {
		file := from.path(path)
		if path == "" {
			file = "-"
		} else {
			book.Paths[p.Start[i].File()] = file
		}
		if of.Sources[i].Values {
			book.Values = file
			continue
		}
		if !slices.Contains(book.Files, file) {
			book.Files = append(book.Files, file)
		}
	}
	suffixes := suffixesOf(p.Start)
	for i, doc := range p.Start {
		book.Start = append(book.Start, book.add("00-start"+suffixes[i], doc.Standalone()))
	}
	before := slices.Clone(book.Start)
	for i, step := range p.Steps {
		if err := book.stage(step, shown.Stages[i].Diff, suffixes, before); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	book.Write(&text)
	book.add(runbookFile, report.EscapeText(text.Bytes()))
	book.add(".gitignore", []byte("*\n"))
	return book.files, nil
}

const runbookFile = "runbook.md"

// stage adds the files of the next stage. before are the names of the documents as the stage finds them, and become
// those after it.
func (b *bookFiles) stage(s plan.Step, diff string, suffixes, before []string) error {
	stage := report.StageFiles{Number: fmt.Sprintf("%02d", len(b.Stages)+1)}
	if s.Changes() {
		name := stage.Number + "-" + s.Stage.Name
		stage.Diff = b.add(name+".diff", report.EscapeText([]byte(diff)))
		for i, r := range s.Documents {
			if !r.Changes() {
				continue
			}
			at := fmt.Sprintf("%s:%d", r.Before.File(), r.Before.Root().Line())
			d := report.DocumentFiles{Revision: r, Name: name + suffixes[i], Was: before[i], In: at}
			before[i] = b.add(d.Name, r.After.Standalone())
			if b.Live == "" { // apply --cluster makes its own
				b.patches(s, &d)
			}
			stage.Documents = append(stage.Documents, d)
		}
	}
	related, err := s.Files()
	for _, f := range append(related, s.Prepared()...) {
		stage.Files = append(stage.Files, b.add(f.Name, []byte(f.Content)))
	}
	b.Stages = append(b.Stages, stage)
	return err
}

// patches adds the patches of a document in a stage, for those who do it with kubectl.
func (b *bookFiles) patches(s plan.Step, d *report.DocumentFiles) {
	patches, err := b.Plan.Patches(s, d.Revision)
	if err != nil {
		d.NoPatch = err.Error()
		return
	}
	name := strings.TrimSuffix(d.Name, filepath.Ext(d.Name))
	if patches.Do != nil {
		d.Patch = b.add(name+".patch.json", patches.Do)
	}
	if patches.Undo != nil && !s.Stage.Permanent {
		d.UndoPatch = b.add(name+".undo.patch.json", patches.Undo)
	}
}

// suffixesOf are the ends of the names of files with these documents: the extension,
// for editors, and where there are several the kind and the name before it.
func suffixesOf(docs []*yamledit.Document) []string {
	var all []string
	for _, doc := range docs {
		suffix := ".yaml"
		if doc.IsJSON() {
			suffix = ".json"
		}
		if len(docs) > 1 {
			suffix = "." + planfolder.Document(doc) + suffix
		}
		for n := 2; slices.Contains(all, suffix); n++ {
			ext := filepath.Ext(suffix)
			suffix = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(suffix, ext), n, ext)
		}
		all = append(all, suffix)
	}
	return all
}

// start is the folder of a repository in which a plan was made: its commands run there in every
// clone. The zero start is for files outside of a repository, which have absolute paths.
type start struct{ top, folder string }

// newStart finds it for a plan folder and the files of the plan, "" for a stream.
func newStart(out string, files []string) start {
	here, err := os.Getwd()
	top, real := git.Top(here)
	if up, err := filepath.Rel(real, top); err == nil && top != "" {
		top = filepath.Join(here, up) // as the folder is called
	}
	outside := func(file string) bool { return file != "" && !isBelow(top, file) }
	if err != nil || top == "" || !isBelow(top, out) || slices.ContainsFunc(files, outside) {
		return start{}
	}
	return start{top, here}
}

// isBelow reports whether an absolute path is in a folder.
func isBelow(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// path is how a command names a file.
func (s start) path(absolute string) string {
	if s.top == "" {
		return absolute
	}
	rel, _ := filepath.Rel(s.folder, absolute) // both are in the repository
	return filepath.ToSlash(rel)
}

// name is how a person finds the folder; "" for the zero start.
func (s start) name() string {
	rel, err := filepath.Rel(s.top, s.folder)
	switch {
	case s.top == "" || err != nil:
		return ""
	case rel == ".":
		return "the top folder of the repository"
	}
	return "the folder " + filepath.ToSlash(rel) + " of the repository"
}

// unplannedFiles are the files that a plan.json of the change lists, but for those that the plan of a cluster
// has. Nothing reads them as clusters once the change is merged, so each is made again and compared.
func unplannedFiles(saved []*clusters.Saved, before, after []*review.Side) []*clusters.Saved {
	type planned struct {
		*review.Side
		folder string
	}
	made := map[planned][]action.File{}
	return lists.Where(saved, func(file *clusters.Saved) bool {
		of := func(s *review.Side) bool { return s.Identity().Is(file.Plan.Cluster) }
		has := func(s *review.Side) bool {
			key := planned{s, filepath.Dir(file.Name)}
			if _, is := made[key]; !is && of(s) {
				made[key] = filesOf(s, file.Plan.Target)
			}
			return slices.ContainsFunc(made[key], func(f action.File) bool {
				return f.Name == filepath.Base(file.Name) && f.Content == string(file.Bytes)
			})
		}
		return !slices.ContainsFunc(after, of) || !slices.ContainsFunc(slices.Concat(after, before), has)
	})
}

// filesOf are the files of all plans of a cluster; none if it cannot be planned.
func filesOf(s *review.Side, target transform.Target) (all []action.File) {
	target.Related = s.Related
	_ = transform.Guard(s.Docs[0].File(), func() error {
		plans, err := plan.Sequence(s.Format, s.Docs, target)
		if err != nil {
			return err
		}
		for _, p := range plans {
			n := len(p.Start)
			files, err := planFiles(p, report.NewPlan(p, "", false), "", make([]string, n), clusters.Cluster{Sources: make([]source.Source, n)}, nil)
			if err != nil {
				return err
			}
			all = append(all, files...)
		}
		return nil
	})
	return all
}
