// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"regexp"

	"github.com/rke-lm/rke-lm/transform"
	manifests "github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// placeholder is what a template or a script puts values into.
var placeholder = regexp.MustCompile(`\{\{[^{}\n]*\}\}|\{[A-Z0-9_]+\}|__[A-Z0-9_]+__`)

// managersParts are the places that stages may change: the arguments, the volumes and mounts, the image, and the annotation
// of a finished migration.
var managersParts = regexp.MustCompile(`(^|\.)(command|args|volumes|volumeMounts|image|annotations|kubernetesVersion)\b|^controllerManager\.extra(Args|Volumes)\b|^nodeRegistration\.kubeletExtraArgs\b`)

// manifestKind are manifests of kube-controller-manager. Braces of templates and other placeholders are no reason to leave
// one out: they get values first.
var manifestKind = corpusKind{
	format: manifests.Format(),
	in:     func(c yamledit.Chunk) bool { return manifests.Format().Words.In(c.Bytes) },
	filled: func(c yamledit.Chunk) yamledit.Chunk {
		c.Bytes = placeholder.ReplaceAll(c.Bytes, []byte("filled"))
		return c
	},
	isPart: func(*yamledit.Document) bool { return false },
	turns: [][]choice{{{name: "by default"}}, {
		{name: "with a configuration", target: transform.Target{LeaderMigrationConfig: transform.ConfigGenerate, LeaseName: "harbour-lease"}},
		{name: "moving the release", target: transform.Target{Version: "v1.27.16", LeaderMigrationConfig: transform.ConfigGenerate}},
		{name: "without migration", target: transform.Target{NoLeaderMigration: true}},
		{name: "with nodeipam", target: transform.Target{NodeIPAM: true, Accept: []string{"nodeipam-without-ccm-support"}}},
	}},
	sampled: 1, fewest: 3,
	at: func(doc *yamledit.Document) yamledit.Node {
		if t := doc.Root().Get("spec", "template", "spec"); t.Exists() {
			return t
		}
		return doc.Root().Get("spec")
	},
	first: []graftEdit{func(e *yamledit.Edit, pod yamledit.Node) {
		e.Set(container(pod).Get("image"), "registry.k8s.io/kube-controller-manager:v1.26.15")
	}},
	grafts: manifestGrafts,
	promises: map[string]func(*outcome, difference) error{"": func(_ *outcome, d difference) error {
		if !managersParts.MatchString(d.path) {
			return errors.New("it is no part of the manager")
		}
		return nil
	}},
}

var manifestGrafts = []graft{
	{"provider at the end", []graftEdit{arg("--cloud-provider=aws")}},
	{"provider in front", []graftEdit{func(e *yamledit.Edit, pod yamledit.Node) {
		e.InsertItem(arguments(pod), firstArgument(pod), "--cloud-provider=aws")
	}}},
	{"provider as an item of its own", []graftEdit{arg("--cloud-provider", "aws")}},
	{"the flag there already", []graftEdit{arg("--enable-leader-migration=true", "--cloud-provider=aws")}},
	{"the flag off", []graftEdit{arg("--cloud-provider=aws", "--enable-leader-migration=false")}},
	{"arguments after the command", []graftEdit{func(e *yamledit.Edit, pod yamledit.Node) {
		put(e, container(pod), "args", []string{"--cloud-provider=aws", "--v=2"})
	}}},
	{"a list of controllers", []graftEdit{arg("--cloud-provider=aws", "--controllers=*,nodeipam,tokencleaner")}},
	{"the configuration half-way", []graftEdit{arg("--cloud-provider=aws", "--enable-leader-migration", "--leader-migration-config=/etc/leadermigration.conf"), func(e *yamledit.Edit, pod yamledit.Node) {
		e.Append(container(pod).Get("volumeMounts"), yamledit.Map{{Key: "mountPath", Value: "/etc/leadermigration.conf"}, {Key: "name", Value: "migration"}})
		e.Append(pod.Get("volumes"), yamledit.Map{{Key: "name", Value: "migration"}, {Key: "hostPath", Value: yamledit.Map{{Key: "path", Value: "/etc/leadermigration.conf"}}}})
	}}},
	{"no volumes", []graftEdit{arg("--cloud-provider=aws"), func(e *yamledit.Edit, pod yamledit.Node) {
		e.Remove(container(pod).Get("volumeMounts"))
		e.Remove(pod.Get("volumes"))
	}}},
	{"the cloud manager", []graftEdit{func(e *yamledit.Edit, pod yamledit.Node) {
		e.Set(arguments(pod).Items()[firstArgument(pod)-1], "/bin/cloud-controller-manager")
	}, arg("--cloud-provider=aws")}},
	{"external with the flag left", []graftEdit{arg("--cloud-provider=external", "--enable-leader-migration")}},
}

// arg appends arguments.
func arg(values ...string) graftEdit {
	return func(e *yamledit.Edit, pod yamledit.Node) {
		for _, v := range values {
			e.Append(arguments(pod), v)
		}
	}
}

func container(pod yamledit.Node) yamledit.Node { return pod.Get("containers").Items()[0] }

// arguments is the list of the container that holds its arguments.
func arguments(pod yamledit.Node) yamledit.Node {
	if at := container(pod).Get("args"); at.Len() > 0 {
		return at
	}
	return container(pod).Get("command")
}

// firstArgument is the index of the first argument.
func firstArgument(pod yamledit.Node) int {
	if at := arguments(pod); at.Key() == "command" && at.Len() > 1 {
		if first, _ := at.Items()[1].String(); first != "" && first[0] != '-' {
			return 2
		}
	}
	return 1
}
