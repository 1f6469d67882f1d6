package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path"
	"strings"

	"github.com/cloudbase/garm-provider-common/params"
)

// What every runner's container starts with.
const (
	agentDir      = "/garm-runner"
	agentPath     = agentDir + "/agent"
	bootstrapFile = "bootstrap.json"
	runnerCommand = "runner"
)

// agentArchive is a tar file with this program and what garm says about the instance. The image's user, whoever that
// is, may read the file and remove it: so the directory is anybody's, within the container.
func agentArchive(b params.BootstrapInstance) (*bytes.Buffer, error) {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	b.Tools = nil // the image has its runner
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, file := range []struct {
		name string
		mode int64
		data []byte
	}{
		{agentDir + "/", 0o777, nil},
		{agentPath, 0o755, program},
		{path.Join(agentDir, bootstrapFile), 0o444, data},
	} {
		header := &tar.Header{Name: strings.TrimPrefix(file.name, "/"), Mode: file.mode, Size: int64(len(file.data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(file.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(file.data); err != nil {
			return nil, err
		}
	}
	return &archive, writer.Close()
}
