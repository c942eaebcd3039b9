/** The map of a graph as pieces of JSON, from its places and titles. */
import type { GraphRows } from '../../../index/graph/graph-rows.ts'
import * as limits from '../../base/limits.ts'
import { encodeGraphPieces, versionOf } from './graph-drawing.ts'
import type { Places } from './map-layout.ts'

export interface MapArea {
  /** Absent for the disk that the roots without children share. */
  readonly node_id?: string
  readonly title: string
  readonly x: number
  readonly y: number
  readonly r: number
  readonly nodes: number
  /** The index in `areas` of the area around this one, or -1. */
  readonly within: number
}

export interface GraphMap {
  readonly version: string
  readonly areas: readonly MapArea[]
  readonly ids: readonly string[]
  readonly titles: readonly string[]
  readonly x: readonly number[]
  readonly y: readonly number[]
  readonly area: readonly number[]
  readonly weight: readonly number[]
}

/** The part of a map to draw. */
export interface MapPart {
  /** Draws only the disk of this node. */
  readonly under?: string
  /** False: draws only areas. */
  readonly columns: boolean
}

/** The JSON of a GraphMap in pieces, to be concatenated. Undefined if there is no node `under`. */
export function drawMap(rows: GraphRows, places: Places, part: MapPart): Generator<string> | undefined {
  const range = rangeOf(rows, places, part.under)
  return range && drawRange(rows, places, range, part.columns)
}

interface Range {
  readonly from: number
  readonly to: number
}

function rangeOf({ nodes }: GraphRows, { order, sizes }: Places, under: string | undefined): Range | undefined {
  if (under === undefined) return { from: 0, to: order.length }
  const from = order.findIndex((row) => nodes[row]?.id === under)
  return from < 0 ? undefined : { from, to: from + (sizes[from] ?? 0) }
}

function* drawRange(rows: GraphRows, places: Places, range: Range, columns: boolean): Generator<string> {
  const { x, y, weight, order } = places
  const areas = areasIn(places, range, columns ? limits.mapAreas : limits.mapAreasWithoutColumns)
  const { from, to } = columns ? range : { from: 0, to: 0 }
  const row = (at: number) => rows.nodes[order[at] ?? 0]
  const shown = Array.from({ length: to - from }, (_, at) => from + at)
  const [held, around] = within(areas, { from, to })
  const toArea = ({ at, nodes, x: left, y: top, r }: Disk, index: number): MapArea => ({
    ...(at === undefined ? { title: '' } : { node_id: row(at)?.id ?? '', title: row(at)?.title ?? '' }),
    ...{ x: left, y: top, r, nodes, within: around[index] ?? -1 },
  })
  const version = versionOf(rows.org)
  yield `${JSON.stringify({ version, areas: areas.map(toArea) } satisfies Partial<GraphMap>).slice(0, -1)},"ids":[`
  yield* encodeGraphPieces(shown, (at) => JSON.stringify(row(at)?.id))
  yield '],"titles":['
  if (shown.length <= limits.mapTitles) yield* encodeGraphPieces(shown, (at) => JSON.stringify(row(at)?.title))
  yield '],"x":['
  yield* encodeGraphPieces(shown, (at) => String(x[at]))
  yield '],"y":['
  yield* encodeGraphPieces(shown, (at) => String(y[at]))
  yield '],"area":['
  yield* encodeGraphPieces(shown, (at) => String(held[at - from]))
  yield '],"weight":['
  yield* encodeGraphPieces(shown, (at) => String(weight[at]))
  yield ']}'
}

interface Disk extends Range {
  /** The position of its node; undefined for the disk of the roots without children. */
  readonly at: number | undefined
  readonly nodes: number
  readonly x: number
  readonly y: number
  readonly r: number
}

/** The areas with the most nodes, sorted by position. An area comes before those inside it. */
function areasIn({ sizes, disks, loose }: Places, { from, to }: Range, limit: number): readonly Disk[] {
  const [first = 0, left = 0, top = 0, r = 0] = loose
  const isWhole = from === 0 && to === sizes.length
  const rest: Disk[] =
    isWhole && first < to ? [{ at: undefined, from: first, to, nodes: to - first, x: left, y: top, r }] : []
  const inner: number[] = []
  for (let at = from; at < to; at++) if ((sizes[at] ?? 0) > 1) inner.push(at)
  const largest = inner
    .sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0) || a - b)
    .slice(0, limit - rest.length)
    .sort((a, b) => a - b)
  const toDisk = (at: number): Disk => {
    const [x = 0, y = 0, radius = 0] = disks.subarray(at * 3, at * 3 + 3)
    const nodes = sizes[at] ?? 0
    return { at, from: at, to: at + nodes, nodes, x, y, r: radius }
  }
  return [...largest.map(toDisk), ...rest]
}

/** The index of the innermost area around each position and around each area, or -1. */
function within(areas: readonly Disk[], { from, to }: Range): readonly [Int32Array, Int32Array] {
  const around = new Int32Array(areas.length).fill(-1)
  const held = new Int32Array(to - from).fill(-1)
  const open: number[] = []
  for (const [index, area] of areas.entries()) {
    while (open.length > 0 && (areas[open.at(-1) ?? 0]?.to ?? 0) <= area.from) open.pop()
    around[index] = open.at(-1) ?? -1
    open.push(index)
    held.fill(index, Math.max(0, area.from - from), Math.max(0, area.to - from))
  }
  return [held, around]
}
