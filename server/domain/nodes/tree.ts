/** The tree of an organisation's nodes, level by level. */
import { findNode } from '../../../index/derived/node-queries.ts'
import { settleOrg } from '../../../index/derived/placement.ts'
import { folded, titleKey } from '../../../index/derived/title-order.ts'
import {
  countChildren,
  countLevel,
  countUpTo,
  findPlace,
  type LevelAt,
  listFirstAncestors,
  listLevel,
  type Place,
  type PlacedNode,
  readLevel,
} from '../../../index/derived/tree-queries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, authorizeOrg } from '../access.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { NodeAt, OrgAt, Path, Query } from '../targets.ts'

interface TreeQuery extends Page {
  /** The parent; undefined: the nodes without a parent. */
  readonly under?: string
  /** Beginnings of words of the title. */
  readonly q?: string
  /** A cursor. */
  readonly after?: string
  /** The id of a node of the level. */
  readonly around?: string
}

/** Part of a level, and how many nodes precede it. */
interface Part {
  readonly nodes: readonly PlacedNode[]
  readonly offset: number
  readonly total: number
}

/**
 * Lists the children of `under`, or the nodes without a parent. They are in the order of their titles, then by id, and
 * have the numbers of their children. A page reads only its nodes, except with `q`.
 *
 * @throws AppError as authorizeOrg, node_not_found
 * @throws ValidationError for parameters that exclude each other, and for a damaged cursor
 */
export async function listTree(ctx: Ctx, { path, query }: Path<OrgAt> & Query<TreeQuery>) {
  const { org_id: orgId } = path
  const { index } = ctx
  const { sees } = await authorizeOrg(ctx, path, 'public')
  const { under, limit } = query
  requireOnePlace(query)
  const after = query.after === undefined ? undefined : placeOf(query.after)
  if (under !== undefined && !(await findNode(index.read, sees, under)))
    throw new AppError('node_not_found', 'Node not found')
  if (under === undefined) await settleOrg(index, orgId)
  const level = { sees, under }
  const words = query.q === undefined ? [] : wordsOf(query.q)
  const part =
    words.length > 0
      ? await filtered(ctx, level, words, { ...query, after })
      : await read(ctx, level, { ...query, after })
  const nodes = part.nodes.slice(0, limit)
  const children = await countChildren(
    index.read,
    sees,
    nodes.map(({ id }) => id),
  )
  const last = part.nodes.length > limit ? nodes.at(-1) : undefined
  return {
    nodes: nodes.map(({ id, title }) => ({ id, title, num_children: children.get(id) ?? 0 })),
    ...pageOf({ limit, offset: part.offset }, part.total),
    ...(last && { next: cursorOf(last) }),
  }
}

/**
 * Reads the ancestors of a node from the top, along each first parent.
 *
 * @throws AppError as authorizeNode
 */
export async function getPath(ctx: Ctx, { path }: Path<NodeAt>) {
  const { onlyNode, sees } = await authorizeNode(ctx, path, 'public')
  const above = await listFirstAncestors(ctx.index.read, sees, path.node_id, limits.treePath + 1)
  if (onlyNode !== undefined) return { nodes: [], truncated: above.length > 0 }
  const seen = new Set([path.node_id])
  const distinct = above.filter(({ id }) => !seen.has(id) && seen.add(id))
  return { nodes: distinct.slice(0, limits.treePath).reverse(), truncated: distinct.length > limits.treePath }
}

function requireOnePlace({ q, offset, after, around }: TreeQuery): void {
  const both = (one: string, other: string) => invalid(['query', one], `Send either ${one} or ${other}`)
  if (around !== undefined && q !== undefined) throw both('around', 'q')
  if (around !== undefined && after !== undefined) throw both('around', 'after')
  if (around !== undefined && offset > 0) throw both('around', 'offset')
  if (after !== undefined && offset > 0) throw both('after', 'offset')
}

type PlacedQuery = Pick<TreeQuery, 'limit' | 'offset' | 'around'> & { readonly after: Place | undefined }

/** Reads one node more than the page has, to know whether others follow. */
async function read({ index }: Pick<Services, 'index'>, level: LevelAt, query: PlacedQuery): Promise<Part> {
  const { after, around } = query
  const db = index.read
  const limit = query.limit + 1
  const total = await countLevel(db, level)
  if (after) {
    const offset = await countUpTo(db, level, after, total)
    return { nodes: await listLevel(db, level, { limit, offset: 0, after }), offset, total }
  }
  if (around !== undefined && total <= query.limit) {
    const nodes = await listLevel(db, level, { limit, offset: 0 })
    if (nodes.some(({ id }) => id === around)) return { nodes, offset: 0, total }
  }
  const offset = around === undefined ? query.offset : await offsetAround(db, level, around, query.limit, total)
  return { nodes: await listLevel(db, level, { limit, offset }), offset, total }
}

/** Returns the offset of the page with the node in the middle. The last page is full, if there are enough nodes. */
async function offsetAround(
  db: Services['index']['read'],
  level: LevelAt,
  around: string,
  limit: number,
  total: number,
): Promise<number> {
  const place = await findPlace(db, level, around)
  if (place === undefined) throw new AppError('node_not_found', 'The node `around` is not in this level of the tree')
  const before = (await countUpTo(db, level, place, total)) - 1
  return Math.max(0, Math.min(before - Math.floor(limit / 2), total - limit))
}

/** Reads the whole level in slices and keeps the nodes whose titles match. */
async function filtered(
  { index }: Pick<Services, 'index'>,
  level: LevelAt,
  words: readonly string[],
  query: PlacedQuery,
): Promise<Part> {
  const found: PlacedNode[] = []
  for await (const nodes of readLevel(index.read, level))
    found.push(...nodes.filter(({ title }) => matches(title, words)))
  const { after } = query
  const offset = after ? found.filter((node) => compare(node, after) <= 0).length : query.offset
  return { nodes: found.slice(offset, offset + query.limit + 1), offset, total: found.length }
}

/** Scripts that do not separate words. */
const unspaced = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/

/** Returns the words of a filter, or all of it if it has only symbols. */
function wordsOf(text: string): readonly string[] {
  const all = folded(text).trim()
  const words = split(all)
  return words.length > 0 || all === '' ? words : [all]
}

function matches(title: string, words: readonly string[]): boolean {
  const all = folded(title)
  const ofTitle = split(all)
  return words.every((word) => ofTitle.some((one) => one.startsWith(word)) || (isInside(word) && all.includes(word)))
}

/** True for words that may begin inside a word of a title. */
function isInside(word: string): boolean {
  return unspaced.test(word) || !/[\p{L}\p{N}]/u.test(word)
}

function split(text: string): string[] {
  return text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '')
}

/** Compares by code points, as SQLite does. */
function compare(a: Place, b: Place): number {
  return Buffer.compare(Buffer.from(a.title_key), Buffer.from(b.title_key)) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

const idLength = 36

/** Encodes a place. The key follows from the title. */
function cursorOf({ id, title }: PlacedNode): string {
  return Buffer.from(id + title).toString('base64url')
}

function placeOf(cursor: string): Place {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [id, title] = [text.slice(0, idLength), text.slice(idLength)]
  if (title === '') throw invalid(['query', 'after'], 'Send the `next` of the page before', cursor)
  return { id, title_key: titleKey(title) }
}
