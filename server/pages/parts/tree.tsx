/** The tree of an organisation, expanded along the path to one node. */

import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { PageContext } from '../page-context.ts'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { mayPropose } from './rights.ts'

/** Maximum nodes shown of one level: one, with 50 siblings before it and after it. */
const levelSize = 101
/** Maximum ancestors shown above a node. */
const deepest = 12
/** Maximum levels that a URL opens or closes. */
const mostAsked = 20

interface TreeNode {
  readonly id: string
  readonly title: string
  readonly num_children: number
}

interface Level {
  readonly nodes: readonly TreeNode[]
  readonly total: number
  /** The number of nodes before the first one. */
  readonly offset: number
}

interface Named {
  readonly id: string
  readonly title: string
}

export interface Tree {
  /** The ancestors from a root to the parent of the node. */
  readonly path: readonly Named[]
  /** True if the node has more ancestors than are shown. */
  readonly isCut: boolean
  readonly current: string | undefined
  /** The levels by parent id; the roots are at ''. */
  readonly levels: Readonly<Record<string, Level>>
  /** The path and query of the page. */
  readonly here: string
  /** The visitor's rights: to create nodes, and to give a node on main another parent. */
  readonly may: { readonly add: boolean; readonly move: boolean }
}

interface Current {
  readonly id: string
  readonly parents: readonly Named[]
  readonly num_children: number
}

interface TreeOrg {
  readonly id: string
  readonly role?: string | undefined
  readonly rules_for_main?: string | undefined
}

/**
 * Reads the tree. The path up follows the first parent of each node. `open` and `close` in the query are the ids of
 * other levels to open or close.
 */
export async function readTree(visit: PageContext, org: TreeOrg, node?: Current): Promise<Tree> {
  const { api, query, here } = visit
  const { path, isCut } = node === undefined ? { path: [], isCut: false } : await pathTo(api, org.id, node)
  const shown = [...path.map(({ id }) => id), ...(node ? [node.id] : [])]
  /** The node to show in each level of the path. */
  const inLevel = new Map(shown.map((id, at) => [shown[at - 1] ?? '', id]))
  if (isCut) inLevel.delete('')
  const asked = (name: string) => query.getAll(name).slice(0, mostAsked)
  const closed = new Set(asked('close'))
  const open = [...path.map(({ id }) => id), ...(node && node.num_children > 0 ? [node.id] : []), ...asked('open')]
  const wanted = new Set(['', ...open.filter((id) => !closed.has(id))])
  const levels: Record<string, Level> = {}
  const read = async (under: string) => {
    const level = await readLevel(api, org.id, under, inLevel.get(under))
    if (level !== undefined && (under === '' || level.total > 0)) levels[under] = level
  }
  await Promise.all([...wanted].map(read))
  const only = onlyRoot(levels)
  if (only !== undefined && levels[only] === undefined && !closed.has(only)) await read(only)
  const add = mayPropose(org.role)
  const may = { add, move: add && (org.rules_for_main ?? 'none') === 'none' }
  return { path, isCut, current: node?.id, levels, here, may }
}

/** Returns the id of the root if it is the only one and has children. It is expanded at first. */
function onlyRoot(levels: Readonly<Record<string, Level>>): string | undefined {
  const { nodes = [] } = levels[''] ?? {}
  const [root] = nodes
  return root && nodes.length === 1 && root.num_children > 0 ? root.id : undefined
}

/** Returns the children of the only root, or the roots if there are several. */
export function areasOf({ levels }: Tree): readonly TreeNode[] {
  return levels[onlyRoot(levels) ?? '']?.nodes ?? []
}

/** Reads the level around a node, else from its beginning. Undefined if its parent does not exist. */
async function readLevel(api: Api, org: string, under: string, around?: string): Promise<Level | undefined> {
  const list = async (query: { around?: string }) => {
    const at = { limit: levelSize, ...query, ...(under === '' ? {} : { under }) }
    const { nodes, total, offset } = await api.listTree({ path: { org_id: org }, query: at })
    return { nodes, total, offset }
  }
  // The node may have moved since its path was read.
  if (around !== undefined)
    return list({ around })
      .catch(unlessMissing)
      .then((level) => level ?? readLevel(api, org, under))
  return list({}).catch(unlessMissing)
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'node_not_found') return undefined
  throw error
}

/** Reads the ancestors that are shown, from the top. */
async function pathTo(
  api: Api,
  org: string,
  node: Pick<Current, 'id' | 'parents'>,
): Promise<{ readonly path: readonly Named[]; readonly isCut: boolean }> {
  if (node.parents.length === 0) return { path: [], isCut: false }
  const { nodes, truncated } = await api.getPath({ path: { org_id: org, node_id: node.id } })
  return { path: nodes.slice(-deepest), isCut: truncated || nodes.length > deepest }
}

interface TreeProps {
  readonly tree: Tree
  readonly urls: Urls
  readonly org: string
}

export function TreeSide(props: TreeProps) {
  const { tree } = props
  const top = tree.isCut ? tree.path[0] : undefined
  const level = top && tree.levels[top.id]
  return (
    <nav class="side tree" id="side" aria-label="Contents" data-tree data-move={tree.may.move ? '' : undefined}>
      <a class="close only-m" href="#main">
        Close contents
      </a>
      <Branch {...props} under="" />
      {top && (
        <ul class="deep">
          <Item {...props} node={{ ...top, num_children: level?.total ?? 0 }} parent="" />
        </ul>
      )}
    </nav>
  )
}

function Branch({ under, ...props }: TreeProps & { readonly under: string }) {
  const { tree, urls, org } = props
  const level = tree.levels[under]
  if (level === undefined) return null
  const { nodes, total, offset } = level
  const all = urls.subpages(org, under || undefined)
  return (
    <ul>
      {offset > 0 && (
        <li class="more">
          <a href={all}>{offset.toLocaleString('en')} before</a>
        </li>
      )}
      {nodes.map((node) => (
        <Item {...props} key={node.id} node={node} parent={under} />
      ))}
      {total > nodes.length && (
        <li class="more">
          <a href={all}>All {plural(total, 'page')}</a>
        </li>
      )}
    </ul>
  )
}

function Item({ node, parent, ...props }: TreeProps & { readonly node: TreeNode; readonly parent: string }) {
  const { tree, urls, org } = props
  const { id, title, num_children } = node
  const isOpen = tree.levels[id] !== undefined
  const isCurrent = id === tree.current
  return (
    <li data-id={id} data-parent={parent}>
      <div class="row">
        {num_children > 0 && (
          <a
            class="chev"
            href={toggled(tree, id, isOpen)}
            rel="nofollow"
            aria-expanded={isOpen}
            aria-label={`Subpages of ${title}`}
          >
            <Icon name="right" size={14} />
          </a>
        )}
        <a
          class="t"
          dir="auto"
          href={urls.node(org, id, title)}
          title={title}
          aria-current={isCurrent ? 'page' : undefined}
        >
          {title}
        </a>
        {num_children > 0 && <span class="n">{num_children.toLocaleString('en')}</span>}
        <Acts {...props} node={node} isCurrent={isCurrent} />
      </div>
      {isOpen && <Branch {...props} under={id} />}
    </li>
  )
}

/** Links that appear while the pointer or the focus is on a row. */
function Acts({
  tree,
  urls,
  org,
  node,
  isCurrent,
}: TreeProps & { readonly node: TreeNode; readonly isCurrent: boolean }) {
  const { id, title } = node
  if (!tree.may.add) return null
  return (
    <span class="do">
      {isCurrent && tree.may.move && (
        <a class="move" href={urls.nodeSettings(org, id, 'move')} aria-label={`Move ${title}`} title="Move this page">
          <Icon name="move" size={14} />
        </a>
      )}
      <a
        class="add"
        href={urls.newNode(org, { parent: id })}
        aria-label={`New page under ${title}`}
        title="New subpage"
      >
        <Icon name="plus" size={14} />
      </a>
    </span>
  )
}

/** Returns the URL of this page with the level closed or opened. */
function toggled({ here, path, current }: Tree, id: string, isOpen: boolean): string {
  const [at = '', query] = here.split('?', 2)
  const parameters = new URLSearchParams(query)
  const without = (name: string) => {
    const others = parameters.getAll(name).filter((one) => one !== id)
    parameters.delete(name)
    for (const one of others.slice(1 - mostAsked)) parameters.append(name, one)
  }
  for (const name of ['open', 'close']) without(name)
  // The levels of the path are open without being asked for.
  const isOnPath = id === current || path.some((one) => one.id === id)
  if (isOpen) parameters.append('close', id)
  else if (!isOnPath) parameters.append('open', id)
  return `${at}${parameters.size > 0 ? `?${parameters}` : ''}`
}
