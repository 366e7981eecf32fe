// Resources, a template, and a resource that changes while a client is subscribed.
import { redPixel } from "./media.js";

const ids = ["1", "12", "123"];

export function addResources(mcpWeb) {
  let readings = 0;
  let timer;
  const watched = mcpWeb.addResource({
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "Changes while a client is subscribed",
    mimeType: "text/plain",
    read: () => `Reading ${readings}`,
    onSubscribe: () => {
      timer = setInterval(() => {
        readings += 1;
        watched.notifyUpdated();
      }, 200);
    },
    onUnsubscribe: () => clearInterval(timer),
  });
  return [
    mcpWeb.addResource({
      uri: "test://static-text",
      name: "static-text",
      description: "A text that never changes",
      mimeType: "text/plain",
      read: () => "This is the content of the static text resource.",
    }),
    mcpWeb.addResource({
      uri: "test://static-binary",
      name: "static-binary",
      description: "A picture that never changes",
      mimeType: "image/png",
      read: () => redPixel().convertToBlob(),
    }),
    mcpWeb.addResourceTemplate({
      uriTemplate: "test://template/{id}/data",
      name: "template-data",
      description: "Data for an id",
      mimeType: "application/json",
      complete: { id: (value) => ids.filter((id) => id.startsWith(value)) },
      read: (_uri, { id }) => ({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }),
    watched,
  ];
}
