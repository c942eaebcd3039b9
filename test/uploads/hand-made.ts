/** ZIP archives written byte by byte, which no honest program would write. */

import { crc32, deflateRawSync } from 'node:zlib'

export interface HandMade {
  readonly name: string | Buffer
  readonly content?: string | Buffer
  /** Default: the one of the content. */
  readonly crc?: number
  /** The size that the directory states. Default: that of the content. */
  readonly stated?: number
  /** Default: 8, Deflate. */
  readonly method?: number
  /** Default: 0x800, the name is UTF-8. */
  readonly flags?: number
  /** Default: a regular file. */
  readonly mode?: number
}

/** Source: APPNOTE.TXT, 4.3. */
export function handMade(entries: readonly HandMade[], counted = entries.length): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { name, content = '# Text\n', method = 8, flags = 0x800, mode = 0o100644 } = entry
    const [named, bytes] = [Buffer.from(name), Buffer.from(content)]
    const { crc = crc32(bytes), stated = bytes.length } = entry
    const packed = method === 8 ? deflateRawSync(bytes) : bytes
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(crc, 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(stated, 18)
    common.writeUInt16LE(named.length, 22)
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, named, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE((mode << 16) >>> 0, 6)
    rest.writeUInt32LE(offset, 10)
    // Version made by: Unix.
    directory.push(Buffer.concat([Buffer.from('504b01021403', 'hex'), common, rest, named]))
    files.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32BE(0x504b0506, 0)
  end.writeUInt16LE(counted, 8)
  end.writeUInt16LE(counted, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, central, end])
}
