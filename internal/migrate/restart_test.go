// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/migrate"
	"github.com/rke-lm/rke-lm/transform/live/route"
)

func TestTheRestartCommandGetsTheMachine(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh on the PATH")
	}
	at := filepath.Join(t.TempDir(), "asked")
	t.Setenv("ASKED", at)
	m := route.KubeletRestart{Node: "ip-10-0-1-5", Address: "10.0.1.5", Command: "systemctl restart rke2-agent"}
	if err := migrate.RestartCommand(`printf '%s|%s|%s' "$NODE" "$ADDRESS" "$COMMAND" > "$ASKED"`).Restart(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(at); err != nil || string(text) != "ip-10-0-1-5|10.0.1.5|systemctl restart rke2-agent" {
		t.Errorf("%s, %v", text, err)
	}
	err := migrate.RestartCommand(`echo "no route to $ADDRESS"; echo AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1; exit 255`).Restart(t.Context(), m)
	if text := fmt.Sprint(err); !strings.Contains(text, "--restart-command for the node ip-10-0-1-5: exit status 255: no route to 10.0.1.5") || strings.Contains(text, "wJalr") {
		t.Errorf("%v", err)
	}
}
