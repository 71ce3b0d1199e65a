"""Saved models that tests change."""

import json

from mixable import persistence


def rewritten(data, **changes):
    """The same file with other metadata and a checksum that fits."""
    from safetensors.numpy import load, save

    tensors = load(data)
    size = int.from_bytes(data[:8], "little")
    metadata = {**json.loads(data[8 : 8 + size])["__metadata__"], **changes}
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    return save(tensors, metadata)
