/** The nodes of one organisation as rows. Properties and fields that questions name are columns. */

import * as limits from '../limits.ts'
import { Column, grown } from './column.ts'
import type { Subject } from './filter.ts'
import { type MatchedNode, subjectValues } from './matching.ts'
import { KIND, kindsOf } from './values.ts'

/** Estimated bytes of a row. It has an id, a place in the order, a shape, and a document of the search. */
const bytesEach = 224

export interface NamedKinds {
  readonly name: string
  /** How many nodes have a value of each kind. */
  readonly boolean: number
  readonly number: number
  readonly date: number
  readonly text: number
  readonly object: number
  /** How many nodes have the property. */
  readonly nodes: number
}

export class PropertyTable {
  readonly epoch: string
  /** The version of the organisation up to which deleted nodes are gone. */
  tombstones = 0
  /** The version up to which rows and shapes have the changes of nodes. */
  version = 0
  /** The ids by row. Undefined: the row is free. */
  readonly ids: (string | undefined)[] = []
  private readonly rows = new Map<string, number>()
  private readonly free: number[] = []
  private readonly columns = new Map<string, { readonly subject: Subject; readonly column: Column }>()
  /** 1 for rows that have a node. */
  private marks = new Uint8Array(64)
  /** The times of creation in milliseconds, by row. */
  private created = new Float64Array(64)
  private readonly shapes: { readonly shape: Shape; nodes: number }[] = []
  /** The places of the shapes, by their JSON. */
  private readonly shapePlaces = new Map<string, number>()
  private readonly connected = new Map<string, { readonly graphVersion: number; readonly ids: readonly string[] }>()
  private shapeOf = new Int32Array(64)
  /** Names of the nodes that `within` shows. */
  private shownNames: ReadonlySet<string> = new Set()

  constructor(epoch: string) {
    this.epoch = epoch
  }

  /** The number of rows, free ones among them. */
  get size(): number {
    return this.ids.length
  }

  get count(): number {
    return this.rows.size
  }

  /** Estimates the memory in bytes. */
  get bytes(): number {
    let bytes = bytesEach * this.size
    for (const { column } of this.columns.values()) bytes += column.bytes
    for (const shape of this.shapePlaces.keys()) bytes += 4 * shape.length
    for (const { ids } of this.connected.values()) bytes += 8 * ids.length
    return bytes
  }

  /** True if deleted nodes and earlier properties have left more than the current ones. A new table is then smaller. */
  get isWasteful(): boolean {
    return this.size + this.shapes.length > 3 * (this.count + 1_000)
  }

  rowOf(id: string): number | undefined {
    return this.rows.get(id)
  }

  /** Returns the columns of these subjects, in their order. A new one is at version 0. */
  columnsOf(subjects: readonly Subject[]): Column[] {
    const wanted = subjects.map((subject) => {
      const key = keyOf(subject)
      const known = this.columns.get(key)
      this.columns.delete(key)
      const held = known === undefined || known.column.isWasteful ? { subject, column: new Column() } : known
      this.columns.set(key, held)
      return held.column
    })
    for (const [key, { column }] of this.columns) {
      if (this.columns.size <= limits.loadedColumns) break
      if (!wanted.includes(column)) this.columns.delete(key)
    }
    return wanted
  }

  /** Returns the columns that later questions may use. They replace a wasteful one. */
  heldColumns(): Column[] {
    return [...this.columns.values()].map(({ column }) => column).filter((column) => !column.isWasteful)
  }

  /** Writes a changed node into its row, and into columns that are behind `changed`. */
  set(node: MatchedNode, changed: number, columns: readonly Column[]): void {
    if (changed > this.version) this.setRow(node)
    const row = this.rows.get(node.id)
    if (row === undefined) return
    for (const { subject, column } of this.columns.values())
      if (column.version < changed && columns.includes(column)) {
        column.set(row, subjectValues(node, subject))
        column.version = changed
      }
    this.version = Math.max(this.version, changed)
  }

  /** Frees the row of a node that is gone. */
  remove(id: string): void {
    const row = this.freeRowOf(id)
    if (row !== undefined) this.reshape(row, -1)
  }

  /** Frees the row of a node, and returns it. */
  private freeRowOf(id: string): number | undefined {
    const row = this.rows.get(id)
    if (row === undefined) return undefined
    this.rows.delete(id)
    this.ids[row] = undefined
    this.marks[row] = 0
    this.free.push(row)
    for (const { column } of this.columns.values()) column.clear(row)
    return row
  }

  /**
   * Calls `answer` while some nodes have other content, and others are gone. The table is then as before. The columns
   * are up to date.
   */
  within<T>(view: { readonly nodes: readonly MatchedNode[]; readonly gone: readonly string[] }, answer: () => T): T {
    const hidden = new Map<string, number>()
    for (const id of [...view.nodes.map((node) => node.id), ...view.gone]) {
      const row = this.rows.get(id)
      if (row === undefined || hidden.has(id)) continue
      hidden.set(id, row)
      this.rows.delete(id)
      this.ids[row] = undefined
      this.marks[row] = 0
    }
    const shown = view.nodes.filter(({ id }) => hidden.has(id))
    this.shownNames = new Set(shown.flatMap(({ properties }) => Object.keys(properties)))
    try {
      for (const node of shown) this.addShown(node, hidden.get(node.id) ?? 0)
      return answer()
    } finally {
      this.shownNames = new Set()
      for (const { id } of shown) this.freeRowOf(id)
      for (const [id, row] of hidden) {
        this.rows.set(id, row)
        this.ids[row] = id
        this.marks[row] = 1
      }
    }
  }

  /** Adds a row for other content of a node. It has the age of the node's own row. */
  private addShown(node: MatchedNode, ownRow: number): void {
    const row = this.free.pop() ?? this.ids.length
    this.makeRoom(row)
    this.rows.set(node.id, row)
    this.ids[row] = node.id
    this.marks[row] = 1
    this.created[row] = this.created[ownRow] ?? 0
    for (const { subject, column } of this.columns.values()) column.set(row, subjectValues(node, subject))
  }

  /** Marks the rows that have a node. */
  live(): Uint8Array {
    return this.marks.slice(0, this.size)
  }

  /** Returns the times of creation by row. They change with the table. */
  createdByRow(): Float64Array {
    return this.created
  }

  /** True if a node has a property of the name. */
  hasName(name: string): boolean {
    if (this.shownNames.has(name)) return true
    return this.shapes.some(({ shape, nodes }) => nodes > 0 && shape.some(([one]) => one === name))
  }

  /** Returns the nodes with a connection of the type. Reads them once for each version of the graph. */
  connectedBy(type: string, graphVersion: number, read: () => readonly string[]): readonly string[] {
    const known = this.connected.get(type)
    if (known?.graphVersion === graphVersion) return known.ids
    const ids = read()
    if (this.connected.size >= limits.loadedColumns) this.connected.clear()
    this.connected.set(type, { graphVersion, ids })
    return ids
  }

  /** Counts the nodes whose only value of the subject is a text, by text. The column is up to date. */
  countTexts(subject: Subject) {
    return this.columnsOf([subject])[0]?.countTexts() ?? []
  }

  /** Counts the names of properties, and the kinds of their values, the most used first. */
  names(): NamedKinds[] {
    const counts = new Map<string, Record<string, number>>()
    for (const { shape, nodes } of this.shapes) {
      if (nodes === 0) continue
      for (const [name, kinds] of shape) {
        const known = counts.get(name) ?? { nodes: 0 }
        known.nodes = (known.nodes ?? 0) + nodes
        for (const [kind, bit] of Object.entries(KIND)) if (kinds & (1 << bit)) known[kind] = (known[kind] ?? 0) + nodes
        counts.set(name, known)
      }
    }
    const zero = { boolean: 0, number: 0, date: 0, text: 0, object: 0, nodes: 0 }
    return [...counts]
      .map(([name, known]): NamedKinds => ({ ...zero, ...known, name }))
      .sort((a, b) => b.nodes - a.nodes || (a.name < b.name ? -1 : 1))
  }

  private setRow(node: MatchedNode): void {
    const row = this.rows.get(node.id) ?? this.free.pop() ?? this.ids.length
    this.rows.set(node.id, row)
    this.ids[row] = node.id
    this.makeRoom(row)
    this.marks[row] = 1
    this.created[row] = Date.parse(node.created_at)
    this.reshape(row, this.shapeCode(node.properties))
  }

  private makeRoom(row: number): void {
    if (row < this.marks.length) return
    this.marks = grown(this.marks, row + 1, (size) => new Uint8Array(size))
    this.created = grown(this.created, row + 1, (size) => new Float64Array(size))
    this.shapeOf = grown(this.shapeOf, row + 1, (size) => new Int32Array(size))
  }

  private shapeCode(properties: MatchedNode['properties']): number {
    const shape: Shape = []
    let key = ''
    for (const name of Object.keys(properties)) {
      const kinds = kindsOf(properties[name])
      if (kinds === 0) continue
      shape.push([name, kinds])
      // A length before each name keeps different shapes apart.
      key += `${name.length}:${name}${kinds};`
    }
    const known = this.shapePlaces.get(key)
    if (known !== undefined) return known
    this.shapePlaces.set(key, this.shapes.length)
    return this.shapes.push({ shape, nodes: 0 }) - 1
  }

  /** Counts a row under its new shape. @param code -1 for none */
  private reshape(row: number, code: number): void {
    const before = this.shapes[(this.shapeOf[row] ?? 0) - 1]
    if (before !== undefined) before.nodes--
    this.shapeOf[row] = code + 1
    const now = this.shapes[code]
    if (now !== undefined) now.nodes++
  }
}

/** The names of a node's properties, each with a bit for each kind. */
type Shape = [name: string, kinds: number][]

function keyOf(subject: Subject): string {
  if ('property' in subject) return JSON.stringify([subject.property].flat())
  return 'field' in subject ? `field ${subject.field}` : `connection ${subject.connection}`
}
