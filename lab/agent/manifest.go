// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// FromManifests reads what the manifests of the two managers ask for: a static pod, a Deployment or a
// DaemonSet each. ccm may be nil. host is the folder in place of the file system of a machine: an
// argument with a path is followed through the mounts of its pod to a file in there.
func FromManifests(kcm, ccm *yamledit.Document, host string) (Wanted, error) {
	list, err := podArgs(kcm, host)
	if err != nil {
		return Wanted{}, err
	}
	w := Wanted{KCM: list, External: external(list)}
	if ccm == nil {
		return w, nil
	}
	if list, err = podArgs(ccm, host); err != nil {
		return Wanted{}, err
	}
	image, _ := podSpec(ccm).Get("containers").Items()[0].Get("image").String()
	w.CCM = &Chart{Minor: semver.MajorMinor(image[strings.LastIndex(image, ":")+1:]), Args: list}
	return w, nil
}

// podSpec returns the specification of a pod or of a workload's pods.
func podSpec(doc *yamledit.Document) yamledit.Node {
	if kind, _ := doc.Root().Get("kind").String(); kind == "Pod" {
		return doc.Root().Get("spec")
	}
	return doc.Root().Get("spec", "template", "spec")
}

// podArgs returns the arguments of the first container, as the lab's machines have to be given them.
func podArgs(doc *yamledit.Document, host string) ([]string, error) {
	containers := podSpec(doc).Get("containers").Items()
	if len(containers) == 0 {
		return nil, fmt.Errorf("agent: %s: no container", doc.File())
	}
	c := containers[0]
	var list []string
	for _, n := range append(c.Get("command").Items(), c.Get("args").Items()...) {
		text, _ := n.String()
		if !strings.HasPrefix(text, "--") {
			continue // the program
		}
		a := args.Parse(text)
		if slices.Contains(ranchertest.MachineFlags, a.Name) { // the lab has its own
			continue
		}
		if path.IsAbs(a.Value) {
			file, err := onHost(podSpec(doc), c, a.Value)
			if err != nil {
				return nil, n.Errorf(err.Error(), "mount it")
			}
			text = "--" + a.Name + "=" + filepath.Join(host, file)
		}
		list = append(list, text)
	}
	return list, nil
}

// onHost returns where on its machine a container finds a file.
func onHost(pod, container yamledit.Node, file string) (string, error) {
	for _, mount := range container.Get("volumeMounts").Items() {
		at, _ := mount.Get("mountPath").String()
		rest, inside := strings.CutPrefix(file, at)
		if !inside || rest != "" && rest[0] != '/' {
			continue
		}
		name, _ := mount.Get("name").String()
		for _, volume := range pod.Get("volumes").Items() {
			if n, _ := volume.Get("name").String(); n != name {
				continue
			}
			if on, ok := volume.Get("hostPath", "path").String(); ok {
				return path.Join(on, rest), nil
			}
		}
	}
	return "", fmt.Errorf("no mount leads to %s on the machine", file)
}
