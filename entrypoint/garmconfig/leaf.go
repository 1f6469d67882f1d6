package garmconfig

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"garm-entrypoint/internal/infile"
)

// Leaf returns the first certificate of the file that apiserver.tls names: the server's own, which garm serves.
func (c *Config) Leaf() (*x509.Certificate, error) {
	path := c.Certificate
	data, err := infile.Read(path, infile.MaxPEM)
	if err != nil {
		return nil, fmt.Errorf("cannot read the server's certificate %s: %w", path, err)
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, fmt.Errorf("cannot use the server's certificate %s: it holds no PEM certificate", path)
		}
		if block.Type == "CERTIFICATE" {
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("cannot use the server's certificate %s: %w", path, err)
			}
			return leaf, nil
		}
	}
}
