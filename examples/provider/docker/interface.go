package main

import (
	"context"

	"github.com/cloudbase/garm-provider-common/execution/common"
	executionv011 "github.com/cloudbase/garm-provider-common/execution/v0.1.1"
)

// What version v0.1.1 of the protocol adds to v0.1.0.
var _ executionv011.ExternalProvider = (*provider)(nil)

// version is the provider's own.
const version = "v0.1.0"

// GetVersion returns the provider's version.
func (p *provider) GetVersion(context.Context) string { return version }

// GetSupportedInterfaceVersions returns the versions of the protocol.
func (p *provider) GetSupportedInterfaceVersions(context.Context) []string {
	return []string{common.Version010, common.Version011}
}

// ValidatePoolInfo says whether a pool can have runners here.
func (p *provider) ValidatePoolInfo(_ context.Context, _, flavor, _, _ string) error {
	_, err := p.config.flavor(flavor)
	return err
}

// GetConfigJSONSchema describes the config file.
func (p *provider) GetConfigJSONSchema(context.Context) (string, error) {
	return `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{` +
		`"socket":{"type":"string"},"network":{"type":"string"},"owner":{"type":"string"},"pull":{"enum":["missing","never"]},` +
		`"mounts":{"type":"array","items":{"type":"string"}},"flavors":{"type":"object","additionalProperties":{"type":"object",` +
		`"additionalProperties":false,"properties":{"memory_mb":{"type":"integer"},"cpus":{"type":"number"}}}}}}`, nil
}

// GetExtraSpecsJSONSchema describes a pool's extra specs: there are none.
func (p *provider) GetExtraSpecsJSONSchema(context.Context) (string, error) {
	return `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}`, nil
}
