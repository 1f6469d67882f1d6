package boot

import (
	"fmt"
	"log/slog"

	"garm-entrypoint/entrypoint/state"
)

// planSecrets refuses a passphrase which is known not to be the database's. Where nothing is known, garm decides: it
// ends when it cannot decrypt what it finds (v0.2.1, with credentials in the database).
func (p *Plan) planSecrets() error {
	p.secrets = state.NewSecretsFile(p.stateDir())
	p.fingerprints, p.fingerprintsErr = p.secrets.Load()
	if p.fingerprints == nil || p.newDatabase || p.fingerprints.PassphraseIs(p.config.InForce().Passphrase) {
		return nil
	}
	source := "the passphrase in " + p.config.Path
	if p.settings.DatabasePassphrase != "" {
		source = "GARM_DATABASE_PASSPHRASE"
	}
	return fmt.Errorf("cannot use %s: it is not the one which the database was made with (its fingerprint is in %s): set it back, or garm cannot decrypt what it holds",
		source, p.secrets.Path())
}

// secretsGiven reports whether garm's own secrets are given beside its config.
func (p *Plan) secretsGiven() bool {
	return p.settings.JWTSecret != "" || p.settings.DatabasePassphrase != ""
}

// saySecrets says what the user cannot see: that a secret was rotated.
func (p *Plan) saySecrets(log *slog.Logger) {
	if p.fingerprintsErr != nil {
		log.Warn(p.fingerprintsErr.Error())
	}
	if p.settings.JWTSecret != "" && p.fingerprints != nil && !p.newDatabase && !p.fingerprints.JWTIs(p.settings.JWTSecret) {
		log.Info("the jwt secret was rotated: everybody has to log in again, and runners under way cannot report any more")
	}
}

// keepFingerprints notes the secrets of a server that has just proven itself.
func (b *Boot) keepFingerprints() {
	p := b.plan
	secrets := p.config.InForce()
	if !p.secretsGiven() || p.fingerprints != nil && p.fingerprints.JWTIs(secrets.JWT) && p.fingerprints.PassphraseIs(secrets.Passphrase) {
		return
	}
	made, err := state.NewFingerprints(secrets.JWT, secrets.Passphrase)
	if err == nil {
		err = p.secrets.Save(made)
	}
	if err != nil {
		b.log.Warn("another passphrase will not be noticed before garm starts: " + err.Error())
		return
	}
	p.fingerprints = made
}

// passphraseCause names a passphrase that nothing has proven yet.
func (p *Plan) passphraseCause(g *garm) string {
	if p.settings.DatabasePassphrase == "" || p.newDatabase || g.ready || p.fingerprints != nil {
		return ""
	}
	return "GARM_DATABASE_PASSPHRASE may not be the one which the database was made with"
}
