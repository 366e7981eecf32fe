/** What bundlers that are told to treat the file as an asset make of an import of it: its address, for the option `wasm` of `enablePageTools()`. */
declare const url: string;
export default url;
