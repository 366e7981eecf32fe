/** What bundlers that are told to treat the file as an asset make of an import of it: its address, for `new McpWeb({ wasm })`. */
declare const url: string;
export default url;
