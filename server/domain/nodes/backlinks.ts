/** The texts that link to a node, with the words around each link. */
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { listLinkingNodes } from '../../../index/derived/neighbours.ts'
import { AppError } from '../../base/errors.ts'
import { excerptAt, type LinkExcerpt } from '../../markdown/excerpts.ts'
import { folded } from '../../markdown/note-names.ts'
import { linesOf } from '../../markdown/points.ts'
import { authorizeNode, type NodeAccess, type OrgAccess } from '../access.ts'
import { immutableAnswer } from '../branches/immutable-answers.ts'
import { authorizeNodeInOrg } from '../indexing/freshness.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { RequestCtx } from '../services.ts'
import type { NodeAt, Path, Query } from '../targets.ts'
import { type ListedLink, readLinksOf } from './links.ts'

/** The most links of a text in the response. */
const maxLinks = 20
/** The most bytes of a text that is read for its words. `readLinksOf` reads no longer one. */
const maxBytes = 524_288

interface Backlink {
  readonly node_id: string
  readonly title: string
  readonly commit_id?: string
  readonly links: readonly (Pick<ListedLink, 'line' | 'column' | 'form' | 'embeds' | 'text' | 'target'> & LinkExcerpt)[]
  readonly truncated: boolean
}

/**
 * Lists the texts that link to this node. These are of nodes with a connection to it, sorted by id.
 *
 * @throws AppError as authorizeNode, busy; the signal's reason
 */
export async function listBacklinks(
  ctx: RequestCtx,
  { path, query: { name, ...page } }: Path<NodeAt> & Query<Page & { readonly name?: string }>,
): Promise<{ backlinks: readonly Backlink[]; total: number; limit: number; offset: number }> {
  const access = await authorizeNode(ctx, path, 'public')
  // A token that is limited to one node sees no other nodes.
  if (access.onlyNode !== undefined) return { backlinks: [], ...pageOf(page, 0) }
  const { node_id: nodeId } = path
  const { rows, total } = await listLinkingNodes(ctx.index.read, access.sees, nodeId, page)
  const backlinks: Backlink[] = []
  for (const { id, title } of rows) {
    const found = await linksFrom(ctx, access, { from: id, to: nodeId, name })
    if (found) backlinks.push({ node_id: id, title, ...found })
  }
  return { backlinks, ...pageOf(page, total) }
}

type LinksOfText = Omit<Backlink, 'node_id' | 'title'>

interface Asked {
  readonly from: string
  readonly to: string
  readonly name: string | undefined
}

/** Reads the links of one text to the node. Returns undefined if the text was deleted since. */
async function linksFrom(
  ctx: RequestCtx,
  { org, role, person, sees }: OrgAccess,
  asked: Asked,
): Promise<LinksOfText | undefined> {
  const seen = { org, role, sees, ...(person && { person }) }
  const access = await authorizeNodeInOrg(ctx, seen, asked.from, 'public').catch(unlessGone)
  if (access === undefined) return undefined
  const key = `backlinks ${JSON.stringify([asked, access.node.head, org.epoch, org.version])}`
  return (
    await immutableAnswer(
      key,
      ({ links }) => lengthOf(links),
      () => linksOfText(ctx, access, asked),
    )
  ).body
}

const lengthOf = (links: LinksOfText['links']) => JSON.stringify(links).length

async function linksOfText(ctx: RequestCtx, access: NodeAccess, { to, name }: Asked): Promise<LinksOfText> {
  const listed = await readLinksOf(ctx, access, access.node.head).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'too_large') return undefined
    throw error
  })
  if (listed === undefined) return { links: [], truncated: true }
  const { links, truncated, object_id, commit_id } = listed.body
  const here = links.filter((link) => link.node?.id === to && (name === undefined || isNamed(link, name)))
  const lines = here.length === 0 || !object_id ? [] : await linesAt(access, object_id)
  return {
    ...(commit_id && { commit_id }),
    links: here.slice(0, maxLinks).map(({ line, column, form, embeds, text, target }) => ({
      ...{ line, column, form, embeds, text, target },
      ...excerptAt(lines, { line, column }),
    })),
    truncated: truncated || here.length > maxLinks,
  }
}

function unlessGone(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'node_not_found') throw error
}

async function linesAt({ repo }: NodeAccess, oid: string): Promise<string[]> {
  return linesOf((await readBlob(repo, oid, maxBytes)).toString('utf8'))
}

/** True for a wiki link whose name is this title. */
function isNamed({ form, target }: ListedLink, name: string): boolean {
  return form === 'wikilink' && folded(target.split('#')[0]?.trim() ?? '') === folded(name.trim())
}
