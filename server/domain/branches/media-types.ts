/**
 * The media type of a file, by its first bytes and its name. HTML, XML, scripts and style sheets are plain text, so
 * that browsers never run or apply them. SVG keeps its own type, because browsers show an image only with it.
 */
import { isUtf8 } from 'node:buffer'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { createSemaphore } from '../../../gitstore/concurrency/semaphore.ts'
import { streamBlob } from '../../../gitstore/objects/blob-stream.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'

/** Bytes read at the start of a file. Git reads as many to recognise binary files. */
const sniffedBytes = 8_000

interface MediaType {
  readonly type: string
  /** True if browsers may show it inline. */
  readonly isShown: boolean
}

/** Signatures of binary formats: bytes at a position, as Latin-1. */
const signatures: readonly (readonly [at: number, bytes: string, type: string])[] = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF87a', 'image/gif'],
  [0, 'GIF89a', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [4, 'ftypavif', 'image/avif'],
  [4, 'ftypavis', 'image/avif'],
  [0, '\0\0\x01\0', 'image/vnd.microsoft.icon'],
  [0, '%PDF-', 'application/pdf'],
  [0, 'PK\x03\x04', 'application/zip'],
  [0, '\x1f\x8b', 'application/gzip'],
  [0, 'ID3', 'audio/mpeg'],
  [0, '\xff\xfb', 'audio/mpeg'],
  [0, '\xff\xf3', 'audio/mpeg'],
  [0, '\xff\xf2', 'audio/mpeg'],
  [8, 'WAVE', 'audio/wav'],
  [0, 'OggS', 'audio/ogg'],
  [0, 'fLaC', 'audio/flac'],
  [4, 'ftypM4A', 'audio/mp4'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\x1aE\xdf\xa3', 'video/webm'],
  [0, 'wOFF', 'font/woff'],
  [0, 'wOF2', 'font/woff2'],
]

/** Types of text files by file extension; other text is text/plain. */
const textTypes: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  markdown: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  ics: 'text/calendar',
  json: 'application/json',
  geojson: 'application/geo+json',
  canvas: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  svg: 'image/svg+xml',
}

const shown = /^(text|image|audio|video)\/|json$|yaml$/

/** Returns the media type. @param start the first bytes, up to `sniffedBytes` */
export function mediaTypeOf(name: string, start: Buffer): MediaType {
  const latin1 = start.toString('latin1', 0, 32)
  const signature = signatures.find(([at, bytes]) => latin1.startsWith(bytes, at))
  const type = signature?.[2] ?? textType(name, start) ?? 'application/octet-stream'
  return { type, isShown: shown.test(type) }
}

/** The type of a text file; undefined for a binary file. For git, a file with a NUL is binary. */
function textType(name: string, start: Buffer): string | undefined {
  if (start.includes(0)) return undefined
  // A character may be cut at the end.
  const isText = [0, 1, 2, 3].some((cut) =>
    isUtf8(start.subarray(0, start.length < sniffedBytes ? start.length : -cut || undefined)),
  )
  if (!isText) return 'text/plain'
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const type = (Object.hasOwn(textTypes, ending) && textTypes[ending]) || 'text/plain'
  return /json$|svg/.test(type) ? type : `${type}; charset=utf-8`
}

/** Limits concurrent reads in this process. A large blob is read by a Git process. */
const semaphore = createSemaphore({ running: 4 })
/** Milliseconds for one blob. */
const timeoutMs = 10_000

/** Starts of blobs, by folder and id. */
const starts = createCache<Buffer>('blob_starts', { sizeCalculation: (start) => start.length + 300 })

/**
 * Reads the first bytes of a blob, or takes them from the cache.
 *
 * @throws GitError as streamBlob; DOMException TimeoutError
 */
export async function readBlobStart(repo: Repo, oid: Oid, size: number): Promise<Buffer> {
  const key = `${repo.dir}:${oid}`
  const known = starts.get(key)
  if (known) return known
  const start = await semaphore.run({}, async () => starts.get(key) ?? readStart(repo, oid, size))
  starts.set(key, start)
  return start
}

/** Reads the first `bytes` of a blob, in turns with other reads. The caller caches what it finds there. */
export function readBlobHeader(repo: Repo, oid: Oid, size: number, bytes: number): Promise<Buffer> {
  return semaphore.run({}, () => readStart(repo, oid, size, bytes))
}

async function readStart(repo: Repo, oid: Oid, size: number, bytes = sniffedBytes): Promise<Buffer> {
  const parts: Buffer[] = []
  const range = { from: 0, to: Math.min(size, bytes) }
  for await (const part of streamBlob(repo, oid, size, range, AbortSignal.timeout(timeoutMs))) parts.push(part)
  return Buffer.from(Buffer.concat(parts))
}
