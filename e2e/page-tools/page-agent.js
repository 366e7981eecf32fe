// Bundled into a page: the text that Page Agent sends to its model.
import { PageController } from "@page-agent/page-controller";

window.pageAgentText = async () => {
  const controller = new PageController();
  const { header, content, footer } = await controller.getBrowserState();
  controller.dispose();
  return `${header}\n${content}\n${footer}`;
};
