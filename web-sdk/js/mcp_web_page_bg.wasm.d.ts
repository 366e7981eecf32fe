/**
 * The type of an import of this file in bundlers that treat it as an asset: its address, for the option `wasm` of
 * `enablePageTools()`.
 */
declare const url: string;
export default url;
