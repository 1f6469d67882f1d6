package boot

import (
	"errors"

	"garm-entrypoint/internal/durable"
)

// carryOut writes what was planned to be generated.
func (p *Plan) carryOut() error {
	if p.generated != nil {
		if err := durable.Create(p.config.Path, p.generated); err != nil {
			return err
		}
	}
	if p.makePassword {
		var err error
		if p.password, err = p.keeper.Create(); err != nil {
			return err
		}
	}
	if p.newDatabase && p.settings.Init {
		if err := p.mark.Set(); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes the temporary files that a killed start left behind. Where we may not look, we cannot have left any.
func (p *Plan) tidy() error {
	err := durable.RemoveStale(p.config.Path)
	if p.keeper.Path() != "" {
		err = errors.Join(err, p.keeper.Tidy(), p.mark.Tidy())
	}
	return err
}
