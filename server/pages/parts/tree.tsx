/** The tree of an organisation, expanded along the path to one node. */

import type { Api } from '../../../spec/client/api.ts'
import type { Urls } from '../urls.ts'
import { Icon } from './icons.tsx'

/** Maximum nodes shown of one level. */
const levelSize = 200
/** Maximum ancestors shown above a node. */
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
  /** The ancestors from a root to the parent of the node. */
  readonly path: readonly Named[]
  readonly current: string | undefined
  /** The levels by parent id; the roots are at ''. */
  readonly levels: Readonly<Record<string, Level>>
}

/** Reads the tree. `node`: the current node. The path up follows the first parent of each node. */
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

/** Returns the id of the root if it is the only one and has children. It is always expanded. */
function onlyRoot(levels: Readonly<Record<string, Level>>): string | undefined {
  const { nodes = [] } = levels[''] ?? {}
  const [root] = nodes
  return root && nodes.length === 1 && root.num_children > 0 ? root.id : undefined
}

/** Returns the children of the only root, or the roots if there are several. */
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
