/** The records of a ZIP, as bytes. Source: APPNOTE.TXT 6.3.10, sections 4.3 and 4.5. */

export interface ZipEntry {
  /** The path in UTF-8. */
  readonly name: Buffer
  /** Seconds since 1970. */
  readonly time: number
  /** 0: stored. 8: Deflate. */
  readonly method: 0 | 8
  /** True if checksum and sizes follow the content. */
  readonly isStreamed: boolean
  readonly crc: number
  readonly size: number
  /** Bytes in the archive. */
  readonly packed: number
  /** The position of the header in the archive. */
  readonly offset: number
}

/** Larger values are written as ZIP64. */
export interface ZipLimits {
  readonly bytes: number
  readonly entries: number
}

/** The value of a field whose real value is in a ZIP64 record. */
const elsewhere = { bytes: 0xffff_ffff, entries: 0xffff } as const
/** The versions of the format that have folders and Deflate, or ZIP64. */
const versions = { plain: 20, zip64: 45 } as const
/** A regular file that everybody may read, on Unix. */
const [unix, mode] = [3, 0o100644]
/** Flags: checksum and sizes follow the content; names are UTF-8. */
const [sizesFollow, utf8] = [0x8, 0x800]
/** The latest time of the field with seconds since 1970, in 2038. */
const latestTime = 2 ** 31 - 1

/**
 * True if the sizes of the entry need 64 bits.
 *
 * A streamed file decides before its packed size is known. Deflate adds less than an eighth.
 */
function isLarge({ size, packed, isStreamed }: ZipEntry, { bytes }: ZipLimits): boolean {
  return isStreamed ? size >= bytes - bytes / 8 : Math.max(size, packed) >= bytes
}

export function localHeader(entry: ZipEntry, limits: ZipLimits): Buffer {
  const { name, isStreamed, crc, size, packed } = entry
  const is64 = isLarge(entry, limits)
  const sizes = isStreamed ? [0, 0] : [size, packed]
  const extra = Buffer.concat([...(is64 ? [extra64(sizes)] : []), timeExtra(entry)])
  const record = Buffer.alloc(30)
  record.writeUInt32LE(0x04034b50, 0)
  record.writeUInt16LE(is64 ? versions.zip64 : versions.plain, 4)
  writeCommon(record, 6, entry)
  record.writeUInt32LE(isStreamed ? 0 : crc, 14)
  record.writeUInt32LE(is64 ? elsewhere.bytes : (sizes[1] ?? 0), 18)
  record.writeUInt32LE(is64 ? elsewhere.bytes : (sizes[0] ?? 0), 22)
  record.writeUInt16LE(name.length, 26)
  record.writeUInt16LE(extra.length, 28)
  return Buffer.concat([record, name, extra])
}

/** Returns what follows the content of a streamed file. */
export function dataDescriptor(entry: ZipEntry, limits: ZipLimits): Buffer {
  const is64 = isLarge(entry, limits)
  const record = Buffer.alloc(is64 ? 24 : 16)
  record.writeUInt32LE(0x08074b50, 0)
  record.writeUInt32LE(entry.crc, 4)
  if (is64) {
    record.writeBigUInt64LE(BigInt(entry.packed), 8)
    record.writeBigUInt64LE(BigInt(entry.size), 16)
  } else {
    record.writeUInt32LE(entry.packed, 8)
    record.writeUInt32LE(entry.size, 12)
  }
  return record
}

/** Returns the entry's record in the directory. */
export function centralRecord(entry: ZipEntry, limits: ZipLimits): Buffer {
  const { name, crc, size, packed, offset } = entry
  const is64 = isLarge(entry, limits)
  const isFar = offset >= limits.bytes
  const larger = [...(is64 ? [size, packed] : []), ...(isFar ? [offset] : [])]
  const extra = Buffer.concat([...(larger.length > 0 ? [extra64(larger)] : []), timeExtra(entry)])
  const record = Buffer.alloc(46)
  record.writeUInt32LE(0x02014b50, 0)
  record.writeUInt16LE((unix << 8) | versions.zip64, 4)
  record.writeUInt16LE(larger.length > 0 ? versions.zip64 : versions.plain, 6)
  writeCommon(record, 8, entry)
  record.writeUInt32LE(crc, 16)
  record.writeUInt32LE(is64 ? elsewhere.bytes : packed, 20)
  record.writeUInt32LE(is64 ? elsewhere.bytes : size, 24)
  record.writeUInt16LE(name.length, 28)
  record.writeUInt16LE(extra.length, 30)
  record.writeUInt32LE(mode * 0x1_0000, 38)
  record.writeUInt32LE(isFar ? elsewhere.bytes : offset, 42)
  return Buffer.concat([record, name, extra])
}

interface Directory {
  readonly entries: number
  /** The position of the first record. */
  readonly start: number
  /** Bytes of all records. */
  readonly size: number
}

/** Returns the records after the directory. */
export function endOfDirectory(directory: Directory, limits: ZipLimits): Buffer {
  const { entries, start, size } = directory
  const is64 = entries >= limits.entries || start >= limits.bytes || size >= limits.bytes
  const record = Buffer.alloc(22)
  record.writeUInt32LE(0x06054b50, 0)
  for (const at of [8, 10]) record.writeUInt16LE(is64 ? elsewhere.entries : entries, at)
  record.writeUInt32LE(is64 ? elsewhere.bytes : size, 12)
  record.writeUInt32LE(is64 ? elsewhere.bytes : start, 16)
  return is64 ? Buffer.concat([end64(directory), record]) : record
}

/** Returns the record with larger fields, and the one that says where it is. */
function end64({ entries, start, size }: Directory): Buffer {
  const record = Buffer.alloc(56 + 20)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  record.writeUInt16LE((unix << 8) | versions.zip64, 12)
  record.writeUInt16LE(versions.zip64, 14)
  for (const at of [24, 32]) record.writeBigUInt64LE(BigInt(entries), at)
  record.writeBigUInt64LE(BigInt(size), 40)
  record.writeBigUInt64LE(BigInt(start), 48)
  record.writeUInt32LE(0x07064b50, 56)
  record.writeBigUInt64LE(BigInt(start + size), 64)
  record.writeUInt32LE(1, 72)
  return record
}

/** Writes the fields that both headers have in this order. */
function writeCommon(record: Buffer, at: number, { method, isStreamed, time }: ZipEntry): void {
  record.writeUInt16LE(utf8 | (isStreamed ? sizesFollow : 0), at)
  record.writeUInt16LE(method, at + 2)
  const date = new Date(Math.min(Math.max(time, earliestTime), latestTime) * 1_000)
  // UTC, because the archive must not depend on the zone of the service.
  record.writeUInt16LE((date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1), at + 4)
  record.writeUInt16LE(
    ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    at + 6,
  )
}

/** The earliest time of the field with two seconds, in 1980. */
const earliestTime = Date.UTC(1980) / 1_000

/** Returns an extra field with 64 bits for each value. */
function extra64(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * values.length)
  extra.writeUInt16LE(0x0001, 0)
  extra.writeUInt16LE(8 * values.length, 2)
  for (const [at, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + 8 * at)
  return extra
}

/** Returns an extra field with the time of the file, in seconds and in UTC. */
function timeExtra({ time }: ZipEntry): Buffer {
  const extra = Buffer.alloc(9)
  extra.writeUInt16LE(0x5455, 0)
  extra.writeUInt16LE(5, 2)
  extra.writeUInt8(1, 4)
  extra.writeInt32LE(Math.min(Math.max(time, 0), latestTime), 5)
  return extra
}
