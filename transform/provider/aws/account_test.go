// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestPoliciesAreWhatIAMTakes(t *testing.T) {
	for _, f := range ManagerNeeds("").Files {
		var p struct {
			Version   string
			Statement []struct {
				Effect, Resource string
				Action           []string
			}
		}
		err := json.Unmarshal([]byte(f.Content), &p)
		assert.Mustf(t, err == nil && p.Version == "2012-10-17" && len(p.Statement) == 1, "%s: %v: %+v", f.Name, err, p)
		s := p.Statement[0]
		assert.Truef(t, s.Effect == "Allow" && s.Resource == "*" && slices.IsSorted(s.Action) && len(slices.Compact(slices.Clone(s.Action))) == len(s.Action), "%s: %+v", f.Name, s)
		for _, right := range s.Action {
			service, call, found := strings.Cut(right, ":")
			assert.Truef(t, found && service != "" && call != "" && !strings.Contains(right, "*"), "%s: %s is no right of one call", f.Name, right)
			assert.Truef(t, !strings.Contains(right, "Volume"), "%s: %s is for the EBS CSI driver", f.Name, right)
		}
		// An inline policy of a role has at most 10,240 characters, blanks apart.
		n := len(strings.Join(strings.Fields(f.Content), ""))
		assert.Truef(t, n <= 10240, "%s has %d characters", f.Name, n)
	}
}

func TestTheClusterIDIsReadFromTheConfiguration(t *testing.T) {
	for config, want := range map[string]string{
		"[Global]\nKubernetesClusterID = harbour\n":                 "harbour",
		"[Global]\nKubernetesClusterTag=\"harbour\"\n":              "harbour",
		"[ global ]\nkubernetesclusterid=harbour ; of Rancher\n":    "harbour",
		"[Global]\nKubernetesClusterID=\"harbour\" # of Rancher\n":  "harbour",
		"[Global]\r\nZone = a\r\nKubernetesClusterID = c-1.x/y\r\n": "c-1.x/y",
		"[Other]\nKubernetesClusterID = harbour\n":                  "",
		"KubernetesClusterID = harbour\n":                           "",
		"[Global]\n; KubernetesClusterID = harbour\n":               "",
		"[Global]\nKubernetesClusterID = $(reboot)\n":               "",
		"[Global]\nKubernetesClusterID = a\"b\n":                    "",
		"[Global]\nKubernetesClusterID =\n":                         "",
		"secret://fleet-default:cloud":                              "",
		"":                                                          "",
	} {
		assert.Equal(t, clusterID(config), want, config)
	}
}

// ran runs a command with an aws, a kubectl and an install that tell what they get.
func ran(t *testing.T, command string, env ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"aws", "kubectl", "install"} {
		script := "#!/bin/sh\nprintf '%s' " + name + "\nfor a in \"$@\"; do printf ' [%s]' \"$a\"; done\necho\n"
		assert.NilError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	c := exec.Command("/bin/sh", "-c", command)
	c.Env = append([]string{"PATH=" + bin + ":/bin:/usr/bin"}, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestCommandsWithoutTheirVariablesDoNothing(t *testing.T) {
	for _, a := range ManagerNeeds("").Actions {
		out, err := ran(t, a.Command)
		assert.Truef(t, err != nil && strings.Contains(out, "set it to") && !strings.Contains(out, "aws ["), "%s: %v: %s", a.Command, err, out)
	}
}

func TestCommandsWithTheirVariablesReachAWS(t *testing.T) {
	env := []string{"CONTROL_PLANE_ROLE=cp role", "NODE_ROLE=node", "CLUSTER_ID=harbour", "RESOURCES=i-1 subnet-2"}
	for config, id := range map[string]string{"": "harbour", "[Global]\nKubernetesClusterID = orchard\n": "orchard"} {
		var all string
		for _, a := range ManagerNeeds(config).Actions {
			out, err := ran(t, a.Command, env...)
			assert.Truef(t, err == nil, "%s: %v", a.Command, err)
			all += out
		}
		for _, want := range []string{
			"aws [iam] [put-role-policy] [--role-name] [cp role]", "[file://aws-ccm-policy.json]", "[--role-name] [node]", "[file://aws-node-policy.json]",
			"aws [ec2] [describe-instances] [--filters] [Name=tag-key,Values=kubernetes.io/cluster/" + id + "]", "aws [ec2] [describe-subnets]", "aws [ec2] [describe-security-groups]",
			"aws [ec2] [create-tags] [--resources] [i-1] [subnet-2] [--tags] [Key=kubernetes.io/cluster/" + id + ",Value=owned]",
		} {
			assert.Contains(t, all, want, "not run")
		}
	}
}

func TestTheCredentialProviderGoesWhereTheKubeletLooks(t *testing.T) {
	p := ECRNeeds(Place{Config: "/etc/x/config.yaml", Folder: "/etc/x", Arguments: true})
	out, _ := ran(t, p.Actions[1].Command) // the program itself is not there
	assert.Equal(t, out, "install [-D] [-m] [0644] [ecr-credential-provider.yaml] [/etc/x/config.yaml]\n")
	assert.Contains(t, p.Actions[1].Why, "--image-credential-provider-config=/etc/x/config.yaml and --image-credential-provider-bin-dir=/etc/x")
	printed := CredentialProvider(Place{Config: "/a", Folder: "/b"}).Why
	assert.True(t, !strings.Contains(printed, "--image"), printed)
	doc, err := yamledit.ParseString(ProviderFile, p.Files[0].Content)
	assert.Must(t, err == nil && p.Files[0].Name == ProviderFile, err)
	entry := doc.Root().Get("providers").Items()[0]
	name, _ := entry.Get("name").String()
	assert.True(t, name == provider && entry.Get("matchImages").Len() != 0 && entry.Get("defaultCacheDuration").Exists(), entry.Value())
}

func TestFilesAreThoseThatCommandsName(t *testing.T) {
	for _, p := range []action.Preparation{ManagerNeeds(""), ECRNeeds(Place{})} {
		var commands string
		for _, a := range p.Actions {
			commands += a.Command + "\n"
		}
		for _, f := range p.Files {
			assert.Contains(t, commands, f.Name, "no command names")
		}
	}
}
