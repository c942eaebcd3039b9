/** The tree of an organisation, open along the way to one node. */

import type { Api } from '../../../spec/client/api.ts'
import type { Urls } from '../urls.ts'
import { Icon } from './icons.tsx'

/** Nodes of one level. */
const levelSize = 200
/** Parents above a node that are shown. */
const deepest = 12

interface TreeNode {
  readonly id: string
  readonly title: string
  readonly num_children: number
}

interface Level {
  readonly nodes: readonly TreeNode[]
  readonly total: number
}

interface Named {
  readonly id: string
  readonly title: string
}

export interface Tree {
  /** From a root to the parent of the node. */
  readonly path: readonly Named[]
  readonly current: string | undefined
  /** By parent; the roots by ''. */
  readonly levels: Readonly<Record<string, Level>>
}

/** `node`: the one to show, with its parents, the first of which lead up. */
export async function readTree(
  api: Api,
  org: string,
  node?: { readonly id: string; readonly parents: readonly Named[]; readonly num_children: number },
): Promise<Tree> {
  const path = node === undefined ? [] : await pathTo(api, org, node)
  const open = [...path.map(({ id }) => id), ...(node && node.num_children > 0 ? [node.id] : [])]
  const levels = Object.fromEntries(
    await Promise.all(['', ...open].map(async (under) => [under, await readLevel(api, org, under)] as const)),
  )
  const only = onlyRoot(levels)
  if (only !== undefined && levels[only] === undefined) levels[only] = await readLevel(api, org, only)
  return { path, current: node?.id, levels }
}

/** A root that all others lie under is open everywhere. */
function onlyRoot(levels: Readonly<Record<string, Level>>): string | undefined {
  const { nodes = [] } = levels[''] ?? {}
  const [root] = nodes
  return root && nodes.length === 1 && root.num_children > 0 ? root.id : undefined
}

/** The nodes of the first level that has more than one. */
export function areasOf({ levels }: Tree): readonly TreeNode[] {
  return levels[onlyRoot(levels) ?? '']?.nodes ?? []
}

async function readLevel(api: Api, org: string, under: string): Promise<Level> {
  const query = { limit: levelSize, ...(under === '' ? {} : { under }) }
  const { nodes, total } = await api.listTree({ path: { org_id: org }, query })
  return { nodes, total }
}

async function pathTo(
  api: Api,
  org: string,
  node: { readonly id: string; readonly parents: readonly Named[] },
): Promise<Named[]> {
  const path: Named[] = []
  const seen = new Set([node.id])
  let [parent] = node.parents
  while (parent && !seen.has(parent.id) && path.length < deepest) {
    seen.add(parent.id)
    path.unshift({ id: parent.id, title: parent.title })
    const { parents } = await api.getNode({ path: { org_id: org, node_id: parent.id } })
    parent = parents[0]
  }
  return path
}

interface TreeProps {
  readonly tree: Tree
  readonly urls: Urls
  readonly org: string
}

export function TreeSide(props: TreeProps) {
  return (
    <nav class="side tree" id="side" aria-label="Contents">
      <a class="close only-m" href="#main">
        Close contents
      </a>
      <Branch {...props} under="" />
    </nav>
  )
}

function Branch({ tree, urls, org, under }: TreeProps & { readonly under: string }) {
  const level = tree.levels[under]
  if (level === undefined) return null
  const { nodes, total } = level
  return (
    <ul>
      {nodes.map(({ id, title, num_children }) => {
        const isOpen = tree.levels[id] !== undefined
        return (
          <li>
            <a
              href={urls.node(org, id)}
              class={isOpen ? 'open' : num_children > 0 ? 'folder' : undefined}
              aria-current={id === tree.current ? 'page' : undefined}
            >
              {num_children > 0 && <Icon name="right" size={14} />}
              <span>{title}</span>
              {num_children > 0 && <span class="n">{num_children}</span>}
            </a>
            {isOpen && <Branch tree={tree} urls={urls} org={org} under={id} />}
          </li>
        )
      })}
      {total > nodes.length && <li class="more">and {total - nodes.length} more</li>}
    </ul>
  )
}
