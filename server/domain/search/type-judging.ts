/**
 * Judges all nodes of a type, in slices of the search thread. Later questions about the same definition judge only the
 * nodes that have changed, and the nodes whose edges lead to them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PropertyRow } from '../../../index/properties/property-rows.ts'
import type { Snapshots } from '../../../index/search/segments/read-snapshots.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import type { Violation } from '../types/checker.ts'
import { type NodeType, OrgTypes } from '../types/org-types.ts'
import { breaksRules, judgeNode, type TypedContent } from '../types/rules.ts'
import { OrgMemory } from './org-memory.ts'
import { sliceMs } from './slices.ts'

/** A type, with the names of all types. */
export interface JudgedType {
  readonly name: string
  /** Other types need only their names and aliases. */
  readonly types: readonly NodeType[]
}

/** A node and what it breaks. */
export interface BrokenNode {
  readonly node_id: string
  readonly title: string
  readonly violations: readonly Violation[]
}

export interface BrokenPage {
  readonly nodes: readonly BrokenNode[]
  readonly total: number
}

/** The effect of a definition. */
export interface Impact {
  readonly nodes: number
  readonly newly_broken: number
  readonly mended: number
  readonly still_broken: number
  /** Nodes that have the type now, and not by the definition. */
  readonly leaving: number
  readonly examples: readonly BrokenNode[]
}

export interface TypeJudging {
  /** Lists the nodes that break rules of the type, the oldest first. Undefined: the organisation does not exist. */
  listBroken(
    orgId: string,
    judged: JudgedType,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<BrokenPage | undefined>
  /** Compares two definitions of a type. Undefined: the organisation does not exist. */
  compare(orgId: string, before: JudgedType, after: JudgedType): Promise<Impact | undefined>
}

/** The most examples of an impact. */
const mostExamples = 100
/** Bytes of the verdicts that are kept between questions: those about 200,000 broken nodes. */
const keptBytes = 40_000_000
/** Bytes for each broken node, and for what is kept in addition to them. */
const brokenBytes = 200
const verdictsBytes = 20_000

interface Asked {
  readonly orgId: string
  readonly judged: JudgedType
}

/** Opens the judgements of all organisations. */
export function openTypeJudging(snapshots: Snapshots): TypeJudging {
  const memory: OrgMemory<Verdicts, Asked> = new OrgMemory({
    read: snapshots.read,
    stateOf: (rows, _, { orgId }) => rows.orgState(orgId),
    isStale: (verdicts, { epoch }) => verdicts.epoch !== epoch,
    load: (_, state, { orgId, judged }) => new Verdicts(orgId, judged, state),
    catchUp: (verdicts, rows, { state, isOver }) => verdicts.catchUp(rows, state.version, isOver),
    sizeOf: ({ broken: { size } }) => ({ documents: size, bytes: verdictsBytes + brokenBytes * size }),
    maxBytes: keptBytes,
  })
  return {
    listBroken: (orgId, judged, page) =>
      memory.ask(keyOf(orgId, judged), { orgId, judged }, (verdicts, rows) => verdicts.page(rows, page)),
    compare: (orgId, before, after) => compareIn(snapshots, orgId, before, after),
  }
}

function keyOf(orgId: string, { name, types }: JudgedType): string {
  const names = types.map((type) => [type.name, type.name === name ? type.version : '', type.definition.aliases ?? []])
  return JSON.stringify([orgId, name, names])
}

/** Which nodes of a type break its rules, up to a version of the organisation. */
class Verdicts {
  readonly epoch: string
  /** The times of creation of the broken nodes, by id. */
  readonly broken = new Map<string, string>()
  private readonly orgId: string
  private readonly name: string
  private readonly types: OrgTypes
  private readonly seesEnds: boolean
  /** Changes up to this version are judged. */
  private version = 0
  private tombstones: number
  /** Changes up to this version are of the first pass, which judges all nodes anyway. */
  private readonly begun: number
  /** Nodes with an edge to a changed one. */
  private readonly due = new Set<string>()
  /** The broken nodes in their order, from the first page on. */
  private ordered: string[] | undefined

  constructor(orgId: string, { name, types }: JudgedType, { epoch, version }: { epoch: string; version: number }) {
    this.orgId = orgId
    this.name = name
    this.types = new OrgTypes(types, false)
    this.epoch = epoch
    this.begun = version
    this.tombstones = version
    const { connections = {}, parents } = this.types.find(name)?.definition ?? {}
    this.seesEnds = parents?.types !== undefined || Object.values(connections).some(({ to }) => to !== undefined)
  }

  /** Returns false when a slice is over and nodes are left. */
  catchUp(rows: SearchRows, version: number, isOver: () => boolean): boolean {
    for (const row of rows.propertiesAfter(this.orgId, this.version)) {
      this.judge(rows, row)
      if (row.changed > this.begun) this.follow(rows, row.id)
      this.version = row.changed
      if (isOver()) return false
    }
    this.version = version
    for (const { node_id } of rows.tombstonesAfter(this.orgId, this.tombstones)) {
      this.put(node_id, undefined)
      this.follow(rows, node_id)
    }
    this.tombstones = version
    for (const id of this.due) {
      const row = rows.propertyRow(this.orgId, id)
      if (row) this.judge(rows, row)
      this.due.delete(id)
      if (isOver()) return false
    }
    return true
  }

  page(rows: SearchRows, { offset, limit }: { readonly offset: number; readonly limit: number }): BrokenPage {
    this.ordered ??= [...this.broken.keys()].sort((one, other) => (this.placeOf(one) < this.placeOf(other) ? -1 : 1))
    const ids = this.ordered.slice(offset, offset + limit)
    return { nodes: describeBroken(rows, this.orgId, this.types, ids), total: this.broken.size }
  }

  private judge(rows: SearchRows, row: PropertyRow): void {
    const properties = propertiesOf(row)
    const content = properties && contentOf(rows, this.types, this.name, row.id, properties)
    const isBroken = content && breaksRules(this.types, content, typesIn(rows, this.orgId))
    this.put(row.id, isBroken ? row.created_at : undefined)
  }

  private put(id: string, brokenSince: string | undefined): void {
    if (this.broken.get(id) === brokenSince) return
    if (brokenSince === undefined) {
      this.ordered?.splice(this.firstFrom(this.placeOf(id)), 1)
      this.broken.delete(id)
    } else {
      this.broken.set(id, brokenSince)
      this.ordered?.splice(this.firstFrom(this.placeOf(id)), 0, id)
    }
  }

  /** Texts sort as the nodes do: by time of creation, then by id. */
  private placeOf(id: string): string {
    return `${this.broken.get(id)} ${id}`
  }

  /** Returns the first index at which a node is not before the place. */
  private firstFrom(place: string): number {
    const ordered = this.ordered ?? []
    let [from, to] = [0, ordered.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.placeOf(ordered[middle] ?? '') < place) from = middle + 1
      else to = middle
    }
    return from
  }

  private follow(rows: SearchRows, id: string): void {
    if (this.seesEnds) for (const holder of rows.holdersOf(id)) this.due.add(holder)
  }
}

/** The verdicts about a node that has the type before or after. */
interface Effect {
  /** True if the node has the type after. */
  readonly isTyped: boolean
  readonly wasTyped: boolean
  readonly wasBroken: boolean
  readonly isBroken: boolean
}

async function compareIn(
  snapshots: Snapshots,
  orgId: string,
  before: JudgedType,
  after: JudgedType,
): Promise<Impact | undefined> {
  const [old, now] = [new OrgTypes(before.types, false), new OrgTypes(after.types, false)]
  const { name } = after
  // A node that changes in the meantime comes again.
  const effects = new Map<string, Effect>()
  for (let version = 0; ; await nextTurn()) {
    const step = snapshots.read((rows) => {
      if (rows.orgState(orgId) === undefined) return 'missing'
      const endsAt = performance.now() + sliceMs
      const typeOf = typesIn(rows, orgId)
      for (const row of rows.propertiesAfter(orgId, version)) {
        const properties = propertiesOf(row)
        const was = properties && contentOf(rows, old, name, row.id, properties)
        const is = properties && contentOf(rows, now, name, row.id, properties)
        const isOf = (types: OrgTypes, content?: TypedContent) => !!content && breaksRules(types, content, typeOf)
        if (was || is)
          effects.set(row.id, {
            wasTyped: was !== undefined,
            isTyped: is !== undefined,
            wasBroken: isOf(old, was),
            isBroken: isOf(now, is),
          })
        else effects.delete(row.id)
        version = row.changed
        if (performance.now() > endsAt) return 'behind'
      }
      return describeBroken(rows, orgId, now, examplesIn(effects))
    })
    if (step === 'missing') return undefined
    if (step === 'behind') continue
    return { ...countsOf(effects), examples: step }
  }
}

function countsOf(effects: ReadonlyMap<string, Effect>): Omit<Impact, 'examples'> {
  const counts = { nodes: 0, newly_broken: 0, mended: 0, still_broken: 0, leaving: 0 }
  for (const { isTyped, wasTyped, wasBroken, isBroken } of effects.values()) {
    if (isTyped) counts.nodes++
    else if (wasTyped) counts.leaving++
    if (isBroken) counts[wasBroken ? 'still_broken' : 'newly_broken']++
    else if (wasBroken && isTyped) counts.mended++
  }
  return counts
}

/** Lists the first broken nodes. Newly broken ones are first. */
function examplesIn(effects: ReadonlyMap<string, Effect>): string[] {
  const newly: string[] = []
  const still: string[] = []
  for (const [id, { wasBroken, isBroken }] of effects) {
    const list = wasBroken ? still : newly
    if (isBroken && list.length < mostExamples) list.push(id)
  }
  return [...newly, ...still].slice(0, mostExamples)
}

type Properties = TypedContent['properties']

/** Parses the properties of a node. Undefined if they have no `type`. */
function propertiesOf({ properties }: PropertyRow): Properties | undefined {
  // index-node.ts has written it.
  return properties.includes('"type"') ? (JSON.parse(properties) as Properties) : undefined
}

/** Reads a node if it has the type. Edges are read only if the type has rules for them. */
function contentOf(
  rows: SearchRows,
  types: OrgTypes,
  name: string,
  id: string,
  properties: Properties,
): TypedContent | undefined {
  const type = types.typeOf(properties)
  if (type?.name !== name) return undefined
  const { connections, other_connections, parents } = type.definition
  const isFree = connections === undefined && other_connections !== false && parents === undefined
  const edges = isFree ? [] : rows.heldEdges(id)
  return {
    properties,
    parents: edges.filter((edge) => edge.edge_type === 'parent_child').map(({ key }) => ({ id: key })),
    connections: edges
      .filter((edge) => edge.edge_type === 'connection')
      .map(({ key, target, connection_type }) => ({ id: key, target, type: connection_type })),
  }
}

function typesIn(rows: SearchRows, orgId: string) {
  return (id: string) => rows.typeTextOf(orgId, id)
}

function describeBroken(rows: SearchRows, orgId: string, types: OrgTypes, ids: readonly string[]): BrokenNode[] {
  return ids.flatMap((id) => {
    const row = rows.propertyRow(orgId, id)
    const properties = row && propertiesOf(row)
    const type = properties && types.typeOf(properties)
    const content = type && contentOf(rows, types, type.name, id, properties)
    if (!row || !content) return []
    const { violations } = judgeNode(types, content, typesIn(rows, orgId))
    return violations.length === 0 ? [] : [{ node_id: id, title: row.title, violations }]
  })
}
