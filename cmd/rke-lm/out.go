// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/planfolder"
	outputs "github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// planFolders writes plans below a folder; without one it writes nothing.
type planFolders struct {
	dir   string
	taken map[string]string // place of each plan written: what it is the plan of
}

// check refuses a folder in which the next search would take the plans' documents
// for clusters.
func (fs *planFolders) check(paths []string) error {
	if fs.dir == "" {
		return nil
	}
	if path, inside := source.Covers(paths, fs.dir); inside {
		return fmt.Errorf("--out %s: it lies in %s, where its documents would be found as clusters; name a folder elsewhere, or a hidden one", fs.dir, path)
	}
	return nil
}

// write writes the plan of one cluster.
func (fs *planFolders) write(said io.Writer, p *transform.Plan, out outputs.Plan, of found) error {
	if fs.dir == "" {
		return nil
	}
	path, err := of.source.Absolute()
	if err != nil {
		return err
	}
	if err := fs.apart(p, path); err != nil {
		return err
	}
	kept := p.Save(path)
	if err := fs.take(kept); err != nil {
		return err
	}
	folder, err := filepath.Abs(filepath.Join(fs.dir, planfolder.Place(kept)))
	if err != nil {
		return err
	}
	files, err := planFiles(p, out, folder, path, of.live)
	if err != nil {
		return err
	}
	written, err := planfolder.Write(fs.dir, kept, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(said, "%s: plan written\n", written)
	return nil
}

// apart refuses the folder of a static pod, which a kubelet may read: what it finds
// there it starts.
func (fs *planFolders) apart(p *transform.Plan, path string) error {
	if kind, _ := p.Start.Root().Get("kind").String(); p.Cluster.Distro != manifests.Name || kind != "Pod" || path == "" {
		return nil
	}
	if folder, inside := source.Covers([]string{filepath.Dir(path)}, fs.dir); inside {
		return fmt.Errorf("--out %s: it lies in %s beside a static pod, where a kubelet may read it; name a folder elsewhere", fs.dir, folder)
	}
	return nil
}

// take refuses a second plan for one folder, on file systems too that do not tell
// capital letters from small ones.
func (fs *planFolders) take(s transform.Saved) error {
	if fs.taken == nil {
		fs.taken = map[string]string{}
	}
	place, of := strings.ToLower(planfolder.Place(s)), fmt.Sprintf("%s, document %d (%s)", s.Source.File, s.Source.Document+1, s.Cluster.Title())
	if other, taken := fs.taken[place]; taken {
		return &failure{code: exitcode.Refused, err: fmt.Errorf("%s: the folder %s holds the plan of %s; plan the two with different --out", of, filepath.Join(fs.dir, planfolder.Place(s)), other)}
	}
	fs.taken[place] = of
	return nil
}

// planFiles returns what a plan folder holds for people.
func planFiles(p *transform.Plan, out outputs.Plan, folder, path string, live *liveCluster) ([]planfolder.File, error) {
	ext := extension(p)
	book := outputs.Runbook{Plan: p, Folder: folder, File: path, Start: "00-start" + ext}
	switch {
	case live != nil:
		book.Live = live.name()
	case path == "":
		book.File = "-"
	}
	files := []planfolder.File{{Name: book.Start, Content: p.Start.Standalone()}}
	for i, step := range p.Steps {
		stage, held, err := stageFiles(step, out.Stages[i].Diff, ext)
		if err != nil {
			return nil, err
		}
		if live == nil { // apply --cluster makes its own
			held = append(held, patchFiles(p, step, &stage)...)
		}
		book.Stages = append(book.Stages, stage)
		files = append(files, held...)
	}
	var text bytes.Buffer
	book.Write(&text)
	return append(files, planfolder.File{Name: "runbook.md", Content: outputs.EscapeText(text.Bytes())}), nil
}

// stageFiles returns the files of one stage and their names.
func stageFiles(s transform.PlannedStage, diff, ext string) (outputs.RunbookStage, []planfolder.File, error) {
	stage := outputs.RunbookStage{Number: fmt.Sprintf("%02d", 1+slices.Index(stages.Names(), s.Stage.Name))}
	var files []planfolder.File
	if s.Changes() {
		name := stage.Number + "-" + s.Stage.Name
		stage.Diff, stage.Document = name+".diff", name+ext
		files = []planfolder.File{{Name: stage.Diff, Content: outputs.EscapeText([]byte(diff))}, {Name: stage.Document, Content: s.After.Standalone()}}
	}
	beside, err := s.Files()
	for _, f := range append(beside, s.Prepared()...) {
		stage.Files = append(stage.Files, f.Name)
		files = append(files, planfolder.File{Name: f.Name, Content: []byte(f.Content)})
	}
	return stage, files, err
}

// patchFiles returns the patches of one stage, for those who do it with kubectl.
func patchFiles(p *transform.Plan, s transform.PlannedStage, stage *outputs.RunbookStage) []planfolder.File {
	patches, err := p.Patches(s)
	if err != nil {
		stage.NoPatch = err.Error()
		return nil
	}
	var files []planfolder.File
	name := stage.Number + "-" + s.Stage.Name
	if patches.Do != nil {
		stage.Patch = name + ".patch.json"
		files = append(files, planfolder.File{Name: stage.Patch, Content: patches.Do})
	}
	if patches.Undo != nil {
		stage.UndoPatch = name + ".undo.patch.json"
		files = append(files, planfolder.File{Name: stage.UndoPatch, Content: patches.Undo})
	}
	return files
}

// extension is that of the documents, for editors.
func extension(p *transform.Plan) string {
	if p.Start.IsJSON() {
		return ".json"
	}
	return ".yaml"
}
