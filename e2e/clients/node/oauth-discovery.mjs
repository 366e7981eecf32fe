// Prints a line for each SDK and each URL of a server: the resource for which the SDK requests a token, with and without
// the challenge of the server. The argument is { bridge, origin, stripped, urls }: requests to the origin go to the bridge,
// as through a proxy that removes the path `stripped`.
import * as newest from "sdk-1-newest/client/auth.js";
import * as client2 from "@modelcontextprotocol/client";

const { bridge, origin, stripped, urls } = JSON.parse(process.argv[2]);

const forward = (url, init) => {
  const path = String(url).slice(origin.length);
  return fetch(bridge + (stripped && path.startsWith(stripped) ? path.slice(stripped.length) : path), init);
};

for (const [sdk, auth] of Object.entries({ "TypeScript SDK 1": newest, "TypeScript client 2": client2 })) {
  for (const url of urls) {
    const challenge = auth.extractWWWAuthenticateParams(await forward(url, { method: "POST", body: "{}" }));
    for (const options of [{ resourceMetadataUrl: challenge.resourceMetadataUrl }, {}]) {
      const metadata = await auth.discoverOAuthProtectedResourceMetadata(url, options, forward);
      const resource = await auth.selectResourceURL(url, {}, metadata).catch(({ message }) => message);
      console.log(JSON.stringify({ sdk, url, resource }));
    }
  }
}
