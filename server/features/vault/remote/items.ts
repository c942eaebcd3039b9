/** Converts planned nodes to items of `PUT …/nodes/batch`, and files to changes of a commit. */

import * as limits from '../../../base/limits.ts'
import { connectionJson, nodeJson, parentJson } from '../../../domain/format/node-files.ts'
import { edgeIdAt, nodeFile, textFile } from '../../../domain/format/paths.ts'
import type { NodeFiles } from '../../../domain/nodes/node-creation.ts'
import { toSingleLine } from '../../../markdown/single-line.ts'
import { type ImportedNode, importMessage } from '../apply/imported-nodes.ts'

export interface Item {
  /** The item as JSON. */
  readonly json: string
  /** True if the item creates exactly the node's files. The rest is committed afterwards. */
  readonly isWhole: boolean
}

/** Control characters that a text_content must not contain, but a file may. */
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/

/** Returns the item of a node. @param files all files of the node, or some of them */
export function itemOf(node: ImportedNode, files: NodeFiles): Item {
  const parents: string[] = []
  const connections: object[] = []
  const kept: object[] = []
  let fields: object = { title: node.title }
  let text: string | undefined
  let isWhole = true
  let room = limits.importRequestBytes
  const take = <T>(list: T[], one: T, isSame: boolean): void => {
    const bytes = Buffer.byteLength(JSON.stringify(one))
    const fits = list.length < limits.importItems && bytes <= room
    if (fits) {
      list.push(one)
      room -= bytes
    }
    isWhole &&= fits && isSame
  }
  for (const [path, bytes] of files) {
    const parent = edgeIdAt('parents', path)
    const connection = edgeIdAt('connections', path)
    if (path === nodeFile) {
      const { title, tags, properties } = JSON.parse(bytes.toString()) as Parameters<typeof nodeJson>[0] // written by the plan
      fields = { title, tags, properties }
      room -= bytes.length
      isWhole &&= nodeJson({ title, ...(tags && { tags }), ...(properties && { properties }) }).equals(bytes)
    } else if (path === textFile) {
      const whole = textIn(bytes)
      const size = Buffer.byteLength(JSON.stringify(whole ?? ''))
      if (whole !== undefined && size <= room && !controls.test(whole)) {
        text = whole
        room -= size
      } else isWhole = false
    } else if (parent !== undefined) take(parents, parent, bytes.equals(parentJson({ label: '' })))
    else if (connection !== undefined) {
      const edge = JSON.parse(bytes.toString()) as Parameters<typeof connectionJson>[0] // written by the plan
      const { target, type, label = '' } = edge
      const isSame = connectionJson({ target, type, label }).equals(bytes)
      take(connections, { id: connection, target, type, ...(label === '' ? {} : { label }) }, isSame)
    } else take(kept, { path, ...contentOf(bytes) }, true)
  }
  const content = text === undefined ? {} : { text_content: text }
  const item = { id: node.id, message: messageOf(node), ...fields, ...content, parents, connections, files: kept }
  return { json: JSON.stringify(item), isWhole }
}

/** Returns lists of changes, one list per commit. `puts` are paths of `files`. */
export function* changesOf(
  files: NodeFiles,
  { puts, deletes }: { readonly puts: readonly string[]; readonly deletes: readonly string[] },
): Generator<readonly string[]> {
  let changes = deletes.map((path) => JSON.stringify({ action: 'delete', path }))
  while (changes.length > limits.importItems) yield changes.splice(0, limits.importItems)
  let size = changes.reduce((sum, change) => sum + Buffer.byteLength(change), 0)
  for (const path of puts) {
    const change = JSON.stringify({ action: 'put', path, ...contentOf(files.get(path) ?? Buffer.of()) })
    const bytes = Buffer.byteLength(change)
    if (changes.length > 0 && (size + bytes > limits.importRequestBytes || changes.length === limits.importItems)) {
      yield changes
      ;[changes, size] = [[], 0]
    }
    changes.push(change)
    size += bytes
  }
  if (changes.length > 0) yield changes
}

/** Returns the commit message on one line, because REST accepts no control characters in it. */
export function messageOf(node: ImportedNode): string {
  return toSingleLine(importMessage(node), 65_536)
}

/** Returns the content as text or base64, with the shorter JSON. */
function contentOf(bytes: Buffer): { content: string; encoding?: 'base64' } {
  const text = textIn(bytes)
  if (text !== undefined && Buffer.byteLength(JSON.stringify(text)) <= (bytes.length * 4) / 3 + 4)
    return { content: text }
  return { content: bytes.toString('base64'), encoding: 'base64' }
}

/** Decodes UTF-8; undefined if it is invalid. */
function textIn(bytes: Buffer): string | undefined {
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : undefined
}
