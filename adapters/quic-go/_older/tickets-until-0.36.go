package main

import (
	"crypto/rand"
	"crypto/tls"
)

// keepTicketKeys lets later connections resume: these versions copy the configuration for every connection, and each copy
// would make up keys of its own.
func keepTicketKeys(security *tls.Config) error {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	security.SetSessionTicketKeys([][32]byte{key})
	return nil
}
