"""Storage: folders that a crash leaves whole, tensors, manifests, resumable parts, locks."""
