import { registerRichText } from "@lexical/rich-text";
import { $getRoot, createEditor } from "lexical";
import Quill from "quill";
import "quill/dist/quill.snow.css";

import { report } from "./state.js";

const quill = new Quill("#quill", { theme: "snow", modules: { toolbar: [["bold"]] } });
quill.root.setAttribute("role", "textbox");
quill.root.setAttribute("aria-multiline", "true");
quill.root.setAttribute("aria-label", "Quill text");
quill.on("text-change", () => report("quill.text", quill.getText().trimEnd()));

const lexical = createEditor({ namespace: "page", onError: (error) => report("lexical.error", String(error)) });
registerRichText(lexical);
lexical.setRootElement(document.getElementById("lexical"));
lexical.registerUpdateListener(({ editorState }) => {
  editorState.read(() => report("lexical.text", $getRoot().getTextContent()));
});
