// Questions to the person in a hidden tab, which is the normal case: the person looks at the AI client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withChromium } from "./chromium.mjs";
import { serve } from "./person.mjs";

test("in a hidden tab, page tools wait, events do not answer, and the person answers after returning", () =>
  withChromium("person-stage.html", ["--remote-debugging-port=0"], async (browser) => {
    const call = await serve(browser, "Stage");
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
      return result.value;
    };
    const until = async (expression) => {
      while (!(await evaluate(expression)));
    };
    await until("!!globalThis.stage");
    await evaluate(`(async () => {
      globalThis.client = await stage.Client.start();
      globalThis.it = await stage.SURFACES["the dialog of an approval"].open(client);
      const { x, y, width, height } = [...it.inside.querySelectorAll("button")].at(-1).getBoundingClientRect();
      globalThis.place = [x + width / 2, y + height / 2];
    })()`);
    const [x, y] = await evaluate("place");
    const click = async () => {
      for (const type of ["mousePressed", "mouseReleased"]) await call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    };
    await call("Emulation.setFocusEmulationEnabled", { enabled: false });
    const { targetInfo } = await call("Target.getTargetInfo");
    await call("Target.createTarget", { url: "about:blank" });
    await until("document.hidden");
    const reason = await evaluate(`client.reason(globalThis.waiting = client.act({ type: "triggerEvent", event: "onClick", find: { name: "Allow" } }, { type: "pressKey", key: "Enter" }))`);
    assert.match(reason, /^the person at the page is asked something \(May the AI use danger\?\)/);
    const shownFor = await evaluate("performance.now()");
    await until(`performance.now() > ${shownFor + 600}`);
    await click();
    assert.equal(await evaluate("it.approved()"), false);
    await call("Target.activateTarget", { targetId: targetInfo.targetId });
    await until("!document.hidden && document.hasFocus()");
    let isApproved = false;
    while (!isApproved) {
      await click();
      isApproved = await evaluate("it.approved()");
    }
    assert.equal(await evaluate("client.response(waiting).then(({ _meta }) => _meta['mcp-web/page'].log[0].code)"), "TargetNotFound");
  }));
