/** The tags of an organisation, and the nodes of each. */
import type { Sees } from '../../../index/derived/sees.ts'
import {
  countTagged,
  listOrgTagRows,
  listTaggedRows,
  readOrgTags,
  type TagFilter,
  type TagRow,
} from '../../../index/derived/tags.ts'
import { folded } from '../../../index/derived/title-order.ts'
import { authorizeOrg } from '../access.ts'
import { slugOf } from '../format/slug.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'

interface TagQuery extends Page, TagFilter {
  /** A part of the tag. */
  readonly q?: string
}

/**
 * Lists the tags that nodes carry on main. A page reads only its tags, except with `q`.
 *
 * @throws AppError as authorizeOrg
 */
export async function listOrgTags(ctx: Ctx, { path, query }: Path<OrgAt> & Query<TagQuery>) {
  const { sees } = await authorizeOrg(ctx, path, 'public')
  const { q = '', ...page } = query
  const { rows, total } =
    q.trim() === '' ? await listOrgTagRows(ctx.index.read, sees, page) : await listMatching(ctx, sees, query)
  const tags = rows.map(({ tag, nodes, within }) => ({ name: tag, num_nodes: nodes, num_nodes_within: within }))
  return { tags, ...pageOf(page, total) }
}

/** Reads all tags in slices and keeps those with `q` in them. */
async function listMatching({ index }: Services, sees: Sees, { q = '', ...query }: TagQuery) {
  const found: TagRow[] = []
  const part = folded(q.trim())
  for await (const tags of readOrgTags(index.read, sees, query))
    found.push(...tags.filter(({ tag }) => folded(tag).includes(part)))
  return { rows: slice(found, query), total: found.length }
}

interface TaggedQuery extends Page {
  readonly tag: string
  /** True without the nodes of nested tags. */
  readonly exact?: boolean
}

/** Lists the nodes with a tag, in the order of their titles. @throws AppError as authorizeOrg */
export async function listTaggedNodes(ctx: Ctx, { path, query }: Path<OrgAt> & Query<TaggedQuery>) {
  const { sees } = await authorizeOrg(ctx, path, 'public')
  const { tag, exact: isExact = false, limit, offset } = query
  const db = ctx.index.read
  const { nodes, within } = await countTagged(db, sees, tag)
  const rows = await listTaggedRows(db, sees, { tag, isExact, limit, offset })
  return {
    nodes: rows.map(({ id, title, tags, updated_at }) => ({
      ...{ id, title, slug: slugOf(title), updated_at },
      tags: JSON.parse(tags) as string[], // written by index-node.ts
    })),
    ...pageOf(query, isExact ? nodes : within),
    ...{ num_nodes: nodes, num_nodes_within: within },
  }
}
