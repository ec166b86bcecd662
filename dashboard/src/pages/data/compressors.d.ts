type Decompress = (input: Uint8Array, outputLength: number) => Uint8Array;

declare module "hyparquet-compressors/src/brotli.js" {
  export const decompressBrotli: Decompress;
}

declare module "hyparquet-compressors/src/gzip.js" {
  export function gunzip(input: Uint8Array, output: Uint8Array): Uint8Array;
}

declare module "hyparquet-compressors/src/lz4.js" {
  export const decompressLz4: Decompress;
  export const decompressLz4Raw: Decompress;
}
