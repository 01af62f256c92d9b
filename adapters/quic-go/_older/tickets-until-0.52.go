package main

import "crypto/tls"

func keepTicketKeys(*tls.Config) error { return nil }
