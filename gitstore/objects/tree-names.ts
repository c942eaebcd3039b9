/** Decodes, encodes and orders the names in trees, which may be any bytes. */

const escapedByte = /(?<![\ud800-\udbff])[\udc80-\udcff]/

/** True if bytes of the name are not UTF-8. */
function isEscapedName(name: string): boolean {
  return escapedByte.test(name)
}

/** Decodes a name. `TreeEntry` says how it shows bytes that are not UTF-8. */
export function decodeName(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text
  let name = ''
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    const part = bytes.subarray(at, at + length)
    const valid = Buffer.from(part.toString('utf8')).equals(part)
    name += valid ? part.toString('utf8') : String.fromCharCode(0xdc00 + lead)
    at += valid ? length : 1
  }
  return name
}

/** Returns the bytes of a name that `decodeName` has read. */
export function encodeName(name: string): Buffer {
  if (!isEscapedName(name)) return Buffer.from(name)
  const parts = name.split(/((?<![\ud800-\udbff])[\udc80-\udcff])/)
  return Buffer.concat(parts.map((part, i) => (i % 2 ? Buffer.of(part.charCodeAt(0) - 0xdc00) : Buffer.from(part))))
}

/** Orders paths by their bytes in a tree, as Git does. JavaScript's order differs above U+FFFF. */
export function comparePaths(a: string, b: string): number {
  if (hasSurrogate.test(a) || hasSurrogate.test(b)) return Buffer.compare(encodeName(a), encodeName(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const hasSurrogate = /[\ud800-\udfff]/
