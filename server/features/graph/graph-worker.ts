/** The worker thread that draws graphs and maps. It takes an order, returns gzipped bytes and keeps no state. */
import { once } from 'node:events'
import { createGzip } from 'node:zlib'
import type { Counted } from '../../../index/graph/graph-counts.ts'
import { readGraphRows } from '../../../index/graph/graph-rows.ts'
import { serveCalls } from '../../domain/worker-client.ts'
import { countNodes, drawGraph, numberNodes, shownEdges, takePart, versionOf } from './graph-drawing.ts'
import type { Drawn, GraphCalls, Order } from './graph-thread.ts'
import { drawMap } from './map-drawing.ts'
import { layOutMap, type Places } from './map-layout.ts'

/** The zlib level. The default, 6, takes twice as long to save 6 %. */
const level = 4

serveCalls<GraphCalls>({ draw }, (drawn) => (drawn === undefined ? [] : [drawn.gzip.buffer]))

async function draw({ file, orgId, under, map, known }: Order): Promise<Drawn | undefined> {
  const read = readGraphRows(file, orgId, under)
  if (read === undefined) return undefined
  const { epoch, graph_version } = read.org
  const graphVersion = `${epoch}-${graph_version}`
  const all = numberNodes(read.nodes)
  if (under !== undefined && !all.has(under)) return undefined
  const valid = known?.graphVersion === graphVersion ? known : undefined
  const counted = valid?.counted ?? shared(countNodes(read, all))
  const [rows, numbers] = under === undefined ? [read, all] : takePart(read, all, counted, under)
  const layout = () => shared(layOutMap(rows.nodes, shownEdges(rows, numbers, counted)))
  const places = valid?.places ?? (map && layout())
  const pieces = map && places ? drawMap(rows, places, map) : drawGraph(rows, numbers, counted)
  if (pieces === undefined) return undefined
  return {
    version: versionOf(rows.org),
    published: rows.org.published === 1,
    ...(await pack(pieces)),
    ...(under === undefined && { figures: { graphVersion, counted, ...(places && { places }) } }),
  }
}

/** Compresses pieces on zlib's thread while this thread makes the next one. */
async function pack(pieces: Iterable<string>): Promise<{ gzip: Uint8Array<ArrayBuffer>; length: number }> {
  const zip = createGzip({ level })
  const chunks: Buffer[] = []
  zip.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(zip, 'end')
  let length = 0
  for (const piece of pieces) {
    const bytes = Buffer.from(piece)
    length += bytes.length
    if (!zip.write(bytes)) await once(zip, 'drain')
  }
  zip.end()
  await ended
  // Buffer.concat may use the pool, which cannot be transferred.
  const gzip = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    gzip.set(chunk, at)
    at += chunk.length
  }
  return { gzip, length }
}

/** Moves figures to shared memory. They return with the next order without a copy. */
function shared<T extends Counted | Places>(figures: T): T {
  const copies = Object.entries(figures).map(([name, numbers]) => [name, share(numbers)])
  return Object.fromEntries(copies) as T // the same names, each with numbers of the same kind
}

function share(numbers: Uint32Array | Int32Array): Uint32Array | Int32Array {
  const bytes = new SharedArrayBuffer(numbers.byteLength)
  const copy = numbers instanceof Int32Array ? new Int32Array(bytes) : new Uint32Array(bytes)
  copy.set(numbers)
  return copy
}
