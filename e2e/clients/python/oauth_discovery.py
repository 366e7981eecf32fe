"""Prints a line for each URL of a server: the resource for which the Python SDK requests a token.

The argument is that of `oauth-discovery.mjs`. Both major versions of the SDK have these functions.
"""

import json
import sys

from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
)
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

try:
    import httpx2 as httpx
except ImportError:
    import httpx

config = json.loads(sys.argv[1])
http = httpx.Client(trust_env=False)


def forward(method, url):
    path = url.removeprefix(config["origin"]).removeprefix(config["stripped"])
    return http.request(method, config["bridge"] + path)


for url in config["urls"]:
    challenge = extract_resource_metadata_from_www_auth(forward("POST", url))
    for metadata_url in [challenge, None]:
        for candidate in build_protected_resource_metadata_discovery_urls(metadata_url, url):
            response = forward("GET", candidate)
            if response.status_code == 200:
                break
        metadata = ProtectedResourceMetadata.model_validate_json(response.content)
        resource, expected = str(metadata.resource), resource_url_from_server_url(url)
        if not check_resource_allowed(requested_resource=expected, configured_resource=resource):
            resource = f"{resource} does not match {expected}"
        print(json.dumps({"sdk": "Python SDK", "url": url, "resource": resource}))
