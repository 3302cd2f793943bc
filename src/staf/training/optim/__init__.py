"""Optimisers: Adam in one launch, Muon, SOAP, and how they share the parameters of a field."""
