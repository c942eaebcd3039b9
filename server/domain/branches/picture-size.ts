/**
 * Reads the width and height of a picture from the beginning of its file.
 *
 * It reads only headers and decodes nothing. A wrong header only makes a page reserve the wrong space.
 */

export interface PictureSize {
  /** Pixels, as browsers draw it. */
  readonly width: number
  readonly height: number
}

/** The largest width and height. */
const maxPixels = 100_000

/** Returns the size. Undefined if the type is unknown, or the header is damaged or too long. */
export function pictureSize(type: string, start: Buffer): PictureSize | undefined {
  const read = readers[type]
  const [width, height] = (Object.hasOwn(readers, type) && read?.(start)) || []
  if (width === undefined || height === undefined) return undefined
  const isValid = [width, height].every((pixels) => pixels > 0 && pixels <= maxPixels)
  return isValid ? { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) } : undefined
}

type Size = readonly [width: number, height: number]

const readers: Readonly<Record<string, (start: Buffer) => Size | undefined>> = {
  'image/png': (start) =>
    start.length >= 24 && is(start, 12, 'IHDR') ? [start.readUInt32BE(16), start.readUInt32BE(20)] : undefined,
  'image/gif': (start) => (start.length >= 10 ? [start.readUInt16LE(6), start.readUInt16LE(8)] : undefined),
  'image/jpeg': jpegSize,
  'image/webp': webpSize,
  'image/avif': avifSize,
  'image/svg+xml': svgSize,
}

function is(start: Buffer, at: number, name: string): boolean {
  return start.toString('latin1', at, at + name.length) === name
}

/** Source: ITU-T T.81, B.1. Orientations 5 to 8 turn the picture by 90° (Exif 2.3, 4.6.4). */
function jpegSize(start: Buffer): Size | undefined {
  let isTurned = false
  for (let at = 2; at + 9 <= start.length; ) {
    if (start[at] !== 0xff) return undefined
    const marker = start[at + 1] ?? 0
    if (marker === 0xff) {
      at++
      continue
    }
    if (marker === 0xd9 || marker === 0xda) return undefined
    // C4, C8 and CC are tables, not frames.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const [height, width] = [start.readUInt16BE(at + 5), start.readUInt16BE(at + 7)]
      return isTurned ? [height, width] : [width, height]
    }
    const length = start.readUInt16BE(at + 2)
    if (length < 2) return undefined
    if (marker === 0xe1 && is(start, at + 4, 'Exif\0\0'))
      isTurned ||= (orientation(start.subarray(at + 10, at + 2 + length)) ?? 1) >= 5
    at += 2 + length
  }
  return undefined
}

/** Returns the orientation, 1 to 8, in the first directory of Exif data. Source: TIFF 6.0, 2. */
function orientation(tiff: Buffer): number | undefined {
  if (tiff.length < 8) return undefined
  const isLittle = is(tiff, 0, 'II')
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  if (directory + 2 > tiff.length) return undefined
  const count = short(directory)
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + 12 * entry
    if (at + 12 > tiff.length) return undefined
    if (short(at) !== 0x0112) continue
    const value = short(at + 8)
    return value >= 1 && value <= 8 ? value : undefined
  }
  return undefined
}

/** Source: RFC 9649, 2.5 to 2.7. */
function webpSize(start: Buffer): Size | undefined {
  if (start.length < 30) return undefined
  if (is(start, 12, 'VP8X')) return [1 + start.readUIntLE(24, 3), 1 + start.readUIntLE(27, 3)]
  if (is(start, 12, 'VP8L') && start[20] === 0x2f) {
    const bits = start.readUInt32LE(21)
    return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)]
  }
  if (!is(start, 12, 'VP8 ') || !is(start, 23, '\x9d\x01\x2a')) return undefined
  return [start.readUInt16LE(26) & 0x3fff, start.readUInt16LE(28) & 0x3fff]
}

/**
 * Takes the largest `ispe` (image size) property: a picture of several tiles also has theirs. `irot` turns it. Source:
 * ISO/IEC 23008-12, 6.5.3 and 6.5.10.
 */
function avifSize(start: Buffer): Size | undefined {
  let largest: Size | undefined
  for (let at = start.indexOf('ispe'); at >= 0 && at + 16 <= start.length; at = start.indexOf('ispe', at + 4)) {
    const size = [start.readUInt32BE(at + 8), start.readUInt32BE(at + 12)] as const
    if (largest === undefined || size[0] * size[1] > largest[0] * largest[1]) largest = size
  }
  const turn = start.indexOf('irot')
  const isTurned = turn >= 0 && ((start[turn + 4] ?? 0) & 1) === 1
  return largest && isTurned ? [largest[1], largest[0]] : largest
}

/** Parts before the root element of an SVG: spaces, declarations, comments and a document type. */
const prolog = /[\s\ufeff]+|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>/iy
const root = /<svg(?=[\s>/])((?:[^>"']|"[^"]*"|'[^']*')*)>/iy
/** Pixels of a unit. Source: CSS Values 4, 6.2. */
const units: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  pt: 4 / 3,
  pc: 16,
  em: 16,
  in: 96,
  cm: 96 / 2.54,
  mm: 9.6 / 2.54,
}

function svgSize(start: Buffer): Size | undefined {
  const text = start.toString('utf8')
  let at = 0
  for (prolog.lastIndex = 0; prolog.test(text); ) at = prolog.lastIndex
  root.lastIndex = at
  const [, attributes = ''] = root.exec(text) ?? []
  const value = (name: string) =>
    new RegExp(`(?:^|\\s)${name}\\s*=\\s*["']([^"']{1,200})["']`, 'i').exec(attributes)?.[1]
  const [, , boxWidth, boxHeight] =
    value('viewBox')
      ?.trim()
      .split(/[\s,]+/)
      .map(Number) ?? []
  const [width, height] = [length(value('width')), length(value('height'))]
  if (width !== undefined && height !== undefined) return [width, height]
  if (!boxWidth || !boxHeight) return undefined
  if (width !== undefined) return [width, (width * boxHeight) / boxWidth]
  return height === undefined ? [boxWidth, boxHeight] : [(height * boxWidth) / boxHeight, height]
}

/** Returns a length in pixels; undefined for a share of the page. */
function length(written: string | undefined): number | undefined {
  const [, number, unit = ''] = /^\s*(\d{1,6}(?:\.\d{1,9})?)\s*([a-z]{0,2})\s*$/i.exec(written ?? '') ?? []
  const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined
  return number === undefined || factor === undefined ? undefined : Number(number) * factor
}
